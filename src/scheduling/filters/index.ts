import type { Filter } from '../filter.js'
import { interPodAffinity } from './inter-pod-affinity.js'
import { nodeAffinity } from './node-affinity.js'
import { nodeDeclaredFeatures } from './node-declared-features.js'
import { nodeName } from './node-name.js'
import { nodePorts } from './node-ports.js'
import { nodeResources } from './node-resources.js'
import { nodeUnschedulable } from './node-unschedulable.js'
import { podTopologySpread } from './pod-topology-spread.js'
import { taintToleration } from './taint-toleration.js'
import { volumeBinding } from './volume-binding.js'
import { volumeLimits } from './volume-limits.js'
import { volumeRestrictions } from './volume-restrictions.js'
import { volumeZone } from './volume-zone.js'

/** In the order of the default profile (pkg/scheduler/apis/config/v1 getDefaultPlugins): a node is named by the first that refuses it. */
export const filters: readonly Filter[] = [
  nodeUnschedulable,
  nodeName,
  taintToleration,
  nodeAffinity,
  nodePorts,
  nodeResources,
  volumeRestrictions,
  volumeLimits,
  volumeBinding,
  volumeZone,
  podTopologySpread,
  interPodAffinity,
  nodeDeclaredFeatures,
]
