/** The one door to a cluster's facts, from a server or from a dump. */
import type { Readable } from 'node:stream'
import type { ConnectionFlags } from './connection.js'
import type { OwnerReference } from './objects.js'
import type { ClusterSnapshot, KindName } from './snapshot.js'

/** A reference to a controller, and the namespace of the object that carries it; none for cluster-scoped ones. */
export interface OwnerWanted {
  namespace?: string
  reference: OwnerReference
}

export interface ReadOptions {
  /** Dumps to read from, see readDump(); absent or empty: the server is asked. */
  from?: readonly string[]
  /** What `--from -` reads. */
  stdin?: Readable & { isTTY?: boolean }
  /** Where the server is and who asks. */
  connection?: ConnectionFlags
  /** The process's environment: KUBECONFIG, HOME, proxies, the in-cluster variables. */
  env?: NodeJS.ProcessEnv
  /** The kinds that are asked of a server; a dump gives all it has. */
  kinds: readonly KindName[]
  /**
   * Called once the kinds are read: whose controllers are to be fetched from a server, and their controllers in turn. Absent: none.
   * It must not change the snapshot.
   */
  ownersOf?: (snapshot: ClusterSnapshot) => readonly OwnerWanted[]
  signal?: AbortSignal
  /** Told what is asked and how it went; never a credential. */
  debug?: (line: string) => void
}

/**
 * Reads a cluster. A dump never loads the client, a server no YAML parser but for the kubeconfig.
 * @throws {InputError} a dump, kubeconfig or flag that can't be used
 * @throws {ServerError} server unreachable, credentials refused, or nodes or pods (where asked for) can't be listed at all
 */
export async function readCluster(options: ReadOptions): Promise<ClusterSnapshot> {
  const { from = [], stdin, signal, debug } = options
  if (from.length > 0) {
    const { readDump } = await import('./dump.js')
    return readDump({ from, stdin, signal, debug })
  }
  const { readServer } = await import('./live.js')
  return readServer(options)
}
