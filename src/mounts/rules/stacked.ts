/** Mounts over and below one that is to go. */
import type { ProbedMount } from '../types.js'
import type { Refusal } from '../unmount-types.js'

/**
 * Why a mount can't be reached by its path, or holds others. `going`: the ids that will be unmounted before it, because they lie on
 * the same path and are as dead.
 */
export function stackedRefusals(
  mount: ProbedMount,
  mounts: readonly ProbedMount[],
  going: ReadonlySet<number>,
): Refusal[] {
  const inTheWay = mount.stackedBy.filter((id) => !going.has(id))
  if (inTheWay.length === 0) return []
  const other = mounts.find(({ id }) => inTheWay.includes(id))
  const covering = mounts.filter(({ id, target }) => inTheWay.includes(id) && target === mount.target)
  const object = mount.target
  if (covering.length > 0)
    return [
      {
        rule: 'covered',
        object,
        reason: `another mount lies on the same path (id ${covering.map(({ id }) => id).join(', ')}, ${covering[0]?.state}): unmounting would hit that one`,
      },
    ]
  return [
    {
      rule: 'mounted-on',
      object,
      reason: `something is mounted on it or below it (id ${inTheWay.join(', ')}${other === undefined ? '' : `, ${other.target}`})`,
    },
  ]
}
