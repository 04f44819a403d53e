import type { NodeState, PodInfo } from './cluster-state.js'

/**
 * The fewest of `others` that must be placed on the node, whatever they are, before it has no room for the pod any more; Infinity
 * when all of them together leave room. Looks at what every further pod makes scarcer: resources, the number of pods, host ports.
 */
export function fewestThatFill(node: NodeState, pod: PodInfo, others: readonly PodInfo[]): number {
  const { allocatable, requested, pods } = node
  const freePods = allocatable.pods - pods.size - 1
  let fewest = others.length > freePods ? freePods + 1 : Number.POSITIVE_INFINITY

  const scarce = (wanted: number, free: number, of: (other: PodInfo) => number) => {
    if (wanted <= 0) return
    let left = free - wanted
    const largestFirst = others.map(of).sort((a, b) => b - a)
    for (const [index, amount] of largestFirst.entries()) {
      left -= amount
      if (left < 0) {
        fewest = Math.min(fewest, index + 1)
        return
      }
      if (amount <= 0) return
    }
  }
  const { cpu, memory, ephemeralStorage, scalars } = pod.requests
  scarce(cpu, allocatable.cpu - requested.cpu, (other) => other.requests.cpu)
  scarce(memory, allocatable.memory - requested.memory, (other) => other.requests.memory)
  scarce(
    ephemeralStorage,
    allocatable.ephemeralStorage - requested.ephemeralStorage,
    (other) => other.requests.ephemeralStorage,
  )
  for (const [name, wanted] of scalars) {
    const free = (allocatable.scalars.get(name) ?? 0) - (requested.scalars.get(name) ?? 0)
    scarce(wanted, free, (other) => other.requests.scalars.get(name) ?? 0)
  }
  if (pod.hostPorts.length > 0 && others.some((other) => other.hostPorts.length > 0)) fewest = Math.min(fewest, 1)
  return Math.max(1, fewest)
}
