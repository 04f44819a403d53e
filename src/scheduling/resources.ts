import type { Container, ContainerStatus, Pod, ResourceList } from '../cluster/objects.js'
import { quantityMilliValue, quantityValue } from './quantity.js'
import type { Rules } from './wording.js'

/**
 * What a pod asks for or a node offers, as pkg/scheduler/framework Resource holds it. Units: cpu in thousandths, memory and
 * ephemeral storage in bytes, pods and scalars (extended resources, huge pages) in whole units.
 */
export interface Resources {
  cpu: number
  memory: number
  ephemeralStorage: number
  pods: number
  scalars: Map<string, number>
}

export function noResources(): Resources {
  return { cpu: 0, memory: 0, ephemeralStorage: 0, pods: 0, scalars: new Map() }
}

const qualifiedName = /^([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$/

/** pkg/scheduler/util IsScalarResourceName; other names (batch.example, storage) do not count. */
function isScalar(name: string): boolean {
  if (name.startsWith('hugepages-') || name.startsWith('attachable-volumes-') || name.includes('kubernetes.io/'))
    return true
  if (!name.includes('/') || name.startsWith('requests.')) return false
  const parts = `requests.${name}`.split('/')
  return parts.length === 2 && qualifiedName.test(parts[1] ?? '')
}

/** A resource list in the scheduler's units. */
export function toResources(list: ResourceList | undefined): Resources {
  const result = noResources()
  for (const [name, quantity] of Object.entries(list ?? {})) {
    if (name === 'cpu') result.cpu = quantityMilliValue(quantity)
    else if (name === 'memory') result.memory = quantityValue(quantity)
    else if (name === 'ephemeral-storage') result.ephemeralStorage = quantityValue(quantity)
    else if (name === 'pods') result.pods = quantityValue(quantity)
    else if (isScalar(name)) result.scalars.set(name, quantityValue(quantity))
  }
  return result
}

export function addResources(to: Resources, what: Resources, sign: 1 | -1 = 1): void {
  to.cpu += sign * what.cpu
  to.memory += sign * what.memory
  to.ephemeralStorage += sign * what.ephemeralStorage
  to.pods += sign * what.pods
  for (const [name, amount] of what.scalars) to.scalars.set(name, (to.scalars.get(name) ?? 0) + sign * amount)
}

function raiseTo(to: Resources, floor: Resources): void {
  to.cpu = Math.max(to.cpu, floor.cpu)
  to.memory = Math.max(to.memory, floor.memory)
  to.ephemeralStorage = Math.max(to.ephemeralStorage, floor.ephemeralStorage)
  to.pods = Math.max(to.pods, floor.pods)
  for (const [name, amount] of floor.scalars) to.scalars.set(name, Math.max(to.scalars.get(name) ?? 0, amount))
}

const isSidecar = (container: Container): boolean => container.restartPolicy === 'Always'

/** The requests that a pod can have as a whole. */
function podLevel(list: ResourceList | undefined): ResourceList {
  const names = Object.entries(list ?? {}).filter(
    ([name]) => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-'),
  )
  return Object.fromEntries(names)
}

/** component-helpers/resource determineContainerReqs: while a resize is under way the larger of what is wanted, set and given counts. */
function containerRequests(
  container: Container,
  status: ContainerStatus | undefined,
  resizeInfeasible: boolean,
): Resources {
  const wanted = toResources(container.resources?.requests)
  if (status?.resources === undefined) return wanted
  const held = toResources(status.resources.requests)
  raiseTo(held, toResources(status.allocatedResources))
  if (!resizeInfeasible) raiseTo(held, wanted)
  return held
}

/**
 * Containers and sidecars together, or the most that an init container needs beside the sidecars started before it, whichever is
 * more (aggregateContainerResourcesByFn).
 */
function sumOver({ spec = {} }: Pod, requestsOf: (container: Container) => Resources): Resources {
  const total = noResources()
  for (const container of spec.containers ?? []) addResources(total, requestsOf(container))
  const sidecars = noResources()
  const highestInit = noResources()
  for (const container of spec.initContainers ?? []) {
    const requests = requestsOf(container)
    if (isSidecar(container)) {
      addResources(total, requests)
      addResources(sidecars, requests)
      raiseTo(highestInit, sidecars)
    } else {
      const beside = noResources()
      addResources(beside, requests)
      addResources(beside, sidecars)
      raiseTo(highestInit, beside)
    }
  }
  raiseTo(total, highestInit)
  return total
}

/** component-helpers/resource 0.37 AggregateContainerRequests of a pod that runs: the most of what is wanted, allocated and given. */
function mostOfSums(pod: Pod, statuses: ReadonlyMap<string, ContainerStatus>, resizeInfeasible: boolean): Resources {
  const wanted = ({ resources }: Container) => resources?.requests
  const orWanted = (container: Container) => (resizeInfeasible ? undefined : wanted(container))
  const allocated = (container: Container) => statuses.get(container.name)?.allocatedResources ?? orWanted(container)
  const given = (container: Container) => statuses.get(container.name)?.resources?.requests ?? allocated(container)
  const sum = (listOf: (container: Container) => ResourceList | undefined) =>
    sumOver(pod, (container) => toResources(listOf(container)))

  // What the kubelet tells of the pod as a whole is what it has added up already.
  const { allocatedResources, resources } = pod.status ?? {}
  const told = allocatedResources !== undefined && resources?.requests !== undefined
  const most = told ? toResources(allocatedResources) : sum(allocated)
  raiseTo(most, told ? toResources(resources.requests) : sum(given))
  if (!resizeInfeasible) raiseTo(most, sum(wanted))
  return most
}

/**
 * component-helpers/resource PodRequests: what all containers ask for; pod-level requests instead where they are set; overhead on
 * top.
 *
 * `from`: 'spec' for a pod to be scheduled, 'status' for one that runs (what it holds, see {@link Rules.statusResources}).
 */
export function podRequests(
  pod: Pod,
  rules: Pick<Rules, 'podLevelResources' | 'statusResources' | 'statusSums' | 'statusPodLevelResources'>,
  from: 'spec' | 'status',
): Resources {
  const spec = pod.spec ?? {}
  const statuses = new Map<string, ContainerStatus>()
  if (from === 'status' && rules.statusResources) {
    for (const status of [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])]) {
      statuses.set(status.name, status)
    }
  }
  const pending = pod.status?.conditions?.find((condition) => condition.type === 'PodResizePending')
  const infeasible = pending?.reason === 'Infeasible'
  const containers = spec.containers ?? []
  const total =
    from === 'status' && rules.statusSums
      ? mostOfSums(pod, statuses, infeasible)
      : sumOver(pod, (container) => {
          // Until 1.36 only what goes on running is looked up in the status.
          const runsOn = isSidecar(container) || containers.includes(container)
          return containerRequests(container, runsOn ? statuses.get(container.name) : undefined, infeasible)
        })

  if (rules.podLevelResources && Object.keys(podLevel(spec.resources?.requests)).length > 0) {
    const asked = podLevel(spec.resources?.requests)
    let set = toResources(asked)
    let names = Object.keys(asked)
    if (from === 'status' && rules.statusPodLevelResources && pod.status?.resources !== undefined) {
      const given = podLevel(pod.status.resources.requests)
      const allocated = podLevel(pod.status.allocatedResources)
      const held = toResources(given)
      raiseTo(held, toResources(allocated))
      if (!infeasible) raiseTo(held, set)
      if (rules.statusSums) names = Object.keys({ ...(infeasible ? {} : asked), ...given, ...allocated })
      set = held
    }
    for (const name of names) {
      if (name === 'cpu') total.cpu = set.cpu
      else if (name === 'memory') total.memory = set.memory
      else total.scalars.set(name, set.scalars.get(name) ?? 0)
    }
  }
  addResources(total, toResources(spec.overhead))
  return total
}
