import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { KindName, KindObjects } from '../../src/cluster/snapshot.js'
import { ClusterState } from '../../src/scheduling/cluster-state.js'
import { rulesOf, schedulerVersion } from '../../src/scheduling/wording.js'

export type Outcome =
  | { result: 'scheduled'; node: string; provisioning?: string }
  | { result: 'pending'; reason: string; message: string; nominated: string | null; preempted?: string[] }

export interface SchedulerCase {
  seed: number
  kubernetes: string
  /** The node that is cordoned. */
  drain: string
  objects: KindObjects[KindName][]
  /** By NAMESPACE/NAME, in the order in which the pods were taken. */
  outcomes: Record<string, Outcome>
}

/** Recorded answers of the real scheduler of that version. */
export function schedulerCases(version: string): SchedulerCase[] {
  const file = new URL(`../fixtures/scheduler-cases/${version}.ndjson.gz`, import.meta.url)
  const lines = gunzipSync(readFileSync(file)).toString('utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as SchedulerCase)
}

export function objectsOf<K extends KindName>(objects: readonly KindObjects[KindName][], kind: K): KindObjects[K][] {
  return objects.filter((object): object is KindObjects[K] => object.kind === kind)
}

/** The scheduler's view of these objects, under the rules of that version. */
export function clusterState(objects: readonly KindObjects[KindName][], version: string): ClusterState {
  return new ClusterState(
    objectsOf(objects, 'Node'),
    objectsOf(objects, 'Pod'),
    {
      claims: objectsOf(objects, 'PersistentVolumeClaim'),
      volumes: objectsOf(objects, 'PersistentVolume'),
      classes: objectsOf(objects, 'StorageClass'),
      csiNodes: objectsOf(objects, 'CSINode'),
      csiDrivers: objectsOf(objects, 'CSIDriver'),
      csiCapacities: objectsOf(objects, 'CSIStorageCapacity'),
      attachments: objectsOf(objects, 'VolumeAttachment'),
      namespaces: objectsOf(objects, 'Namespace'),
      budgets: objectsOf(objects, 'PodDisruptionBudget'),
    },
    rulesOf(schedulerVersion(version)),
  )
}
