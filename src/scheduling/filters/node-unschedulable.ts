import { type Filter, unresolvable } from '../filter.js'
import { toleratesTaint, unschedulableTaint } from '../tolerations.js'

/** Cordoned nodes take only pods that tolerate the cordon's taint. */
export const nodeUnschedulable: Filter = {
  name: 'NodeUnschedulable',
  prepare(pod) {
    const tolerated = (pod.pod.spec?.tolerations ?? []).some((toleration) =>
      toleratesTaint(toleration, unschedulableTaint),
    )
    const rejection = unresolvable('node(s) were unschedulable')
    return { kind: 'check', filter: { check: (node) => (node.unschedulable && !tolerated ? rejection : null) } }
  },
}
