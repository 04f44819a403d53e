import { type Filter, skip, unresolvable } from '../filter.js'

/** A pod that names its node goes to no other. */
export const nodeName: Filter = {
  name: 'NodeName',
  prepare(pod) {
    const wanted = pod.pod.spec?.nodeName
    if (!wanted) return skip
    const rejection = unresolvable("node(s) didn't match the requested node name")
    return { kind: 'check', filter: { check: (node) => (node.name === wanted ? null : rejection) } }
  },
}
