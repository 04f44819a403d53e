import type { HostPort } from '../cluster-state.js'
import { type Filter, resolvable, skip } from '../filter.js'

/** pkg/scheduler HostPortInfo.CheckConflict: the same port and protocol, on the same address or where either takes all addresses. */
function conflict(a: HostPort, b: HostPort): boolean {
  return a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || a.ip === '0.0.0.0' || b.ip === '0.0.0.0')
}

/** Host ports that another pod of the node holds. */
export const nodePorts: Filter = {
  name: 'NodePorts',
  prepare(pod) {
    if (pod.hostPorts.length === 0) return skip
    const rejection = resolvable("node(s) didn't have free ports for the requested pod ports")
    return {
      kind: 'check',
      filter: {
        check(node) {
          for (const other of node.pods) {
            for (const used of other.hostPorts) {
              if (pod.hostPorts.some((wanted) => conflict(wanted, used))) return rejection
            }
          }
          return null
        },
      },
    }
  },
}
