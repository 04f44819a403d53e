import { ServerError } from './errors.js'
import type { ReadOptions } from './read.js'
import type { ClusterSnapshot } from './snapshot.js'

export async function readServer(_options: ReadOptions): Promise<ClusterSnapshot> {
  throw new ServerError('asking a server is not there yet')
}
