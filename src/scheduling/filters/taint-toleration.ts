import { type Filter, unresolvable } from '../filter.js'
import { untoleratedTaint } from '../tolerations.js'

/** Taints NoSchedule and NoExecute keep pods away that do not tolerate them. */
export const taintToleration: Filter = {
  name: 'TaintToleration',
  prepare(pod, { rules }) {
    const tolerations = pod.pod.spec?.tolerations ?? []
    return {
      kind: 'check',
      filter: {
        check(node) {
          const taint = untoleratedTaint(node.taints, tolerations)
          if (taint === null) return null
          return unresolvable(
            rules.namesTaint
              ? `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`
              : 'node(s) had untolerated taint(s)',
          )
        },
      },
    }
  },
}
