import type { PodSpec } from '../../cluster/objects.js'
import { type Filter, skip, unresolvable } from '../filter.js'

/** Features of component-helpers/nodedeclaredfeatures that a pod can need before it runs, told from its spec. */
const needs: Readonly<Record<string, (spec: PodSpec) => boolean>> = {
  UserNamespacesHostNetworkSupport: (spec) => spec.hostNetwork === true && spec.hostUsers === false,
  RestartAllContainersOnContainerExits: (spec) =>
    [...(spec.containers ?? []), ...(spec.initContainers ?? [])].some((container) =>
      (container.restartPolicyRules ?? []).some((rule) => rule.action === 'RestartAllContainers'),
    ),
  VolumeBindMountOptions: (spec) =>
    [...(spec.containers ?? []), ...(spec.initContainers ?? [])].some((container) =>
      (container.volumeMounts ?? []).some((mount) => (mount.bindMountOptions ?? []).length > 0),
    ),
}

/** From 1.36 on: the node must declare (status.declaredFeatures) what the pod needs of it. */
export const nodeDeclaredFeatures: Filter = {
  name: 'NodeDeclaredFeatures',
  prepare(pod, { rules }) {
    if (!rules.declaredFeatures) return skip
    const required = Object.keys(needs).filter((feature) => needs[feature]?.(pod.pod.spec ?? {}))
    if (required.length === 0) return skip
    const rejection = unresolvable("node(s) didn't match Pod's required features")
    return {
      kind: 'check',
      filter: {
        check: ({ declaredFeatures }) =>
          required.every((feature) => declaredFeatures.has(feature)) ? null : rejection,
      },
    }
  },
}
