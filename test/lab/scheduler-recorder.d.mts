import type { SchedulerCase } from '../support/scheduler-cases.js'
import type { ControlPlane } from './control-plane.mjs'
import type { InventedCluster } from './invented-clusters.mjs'

export type Recorded = Pick<SchedulerCase, 'objects' | 'outcomes'>

export class Recorder {
  constructor(plane: ControlPlane, version: string)
  /** How many objects the API server did not take: a cluster goes without them. */
  refused: number
  /** How many pods the scheduler said nothing about; a cluster ends with the first. */
  unanswered: number
  watchPods(): Promise<void>
  /** null: the cluster did not come out as it was meant. */
  record(invented: InventedCluster): Promise<Recorded | null>
}

export function slim(object: SchedulerCase['objects'][number]): SchedulerCase['objects'][number]
