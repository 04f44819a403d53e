import type { Filter } from '../filter.js'

/** CPU, memory, ephemeral storage, extended resources and the number of pods: requests against what the node has left. */
export const nodeResources: Filter = {
  name: 'NodeResourcesFit',
  prepare(pod, { rules }) {
    const { cpu, memory, ephemeralStorage, scalars } = pod.requests
    return {
      kind: 'check',
      filter: {
        check({ allocatable, requested, pods }) {
          const reasons: string[] = []
          let helpedByPreemption = true
          const need = (name: string, wanted: number, offered: number, used: number) => {
            if (wanted <= 0 || wanted <= offered - used) return
            reasons.push(`Insufficient ${name}`)
            if (rules.unresolvableResources && wanted > offered) helpedByPreemption = false
          }
          if (pods.size + 1 > allocatable.pods) reasons.push('Too many pods')
          need('cpu', cpu, allocatable.cpu, requested.cpu)
          need('memory', memory, allocatable.memory, requested.memory)
          need('ephemeral-storage', ephemeralStorage, allocatable.ephemeralStorage, requested.ephemeralStorage)
          for (const [name, wanted] of scalars) {
            need(name, wanted, allocatable.scalars.get(name) ?? 0, requested.scalars.get(name) ?? 0)
          }
          return reasons.length === 0 ? null : { reasons, helpedByPreemption }
        },
      },
    }
  },
}
