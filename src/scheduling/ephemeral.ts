import type { Pod, PodVolume } from '../cluster/objects.js'

/** Name of the claim of a generic ephemeral volume (component-helpers/storage/ephemeral VolumeClaimName). */
export function ephemeralClaimName(pod: Pod, volume: PodVolume): string {
  return `${pod.metadata.name}-${volume.name}`
}
