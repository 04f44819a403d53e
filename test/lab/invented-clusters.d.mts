/** Plain data that only the recorder reads. */
export interface InventedCluster {
  kind: string
  /** The node that is to be drained. */
  drain: string
}

export const kinds: readonly string[]
export function inventCluster(kind: string, seed: number): InventedCluster
