/** Where a cluster's server is and who asks it: what the command line says, and what comes of it with the kubeconfig. */

/** kubectl's connection flags, with kubectl's meaning. */
export interface ConnectionFlags {
  kubeconfig?: string
  context?: string
  cluster?: string
  user?: string
  server?: string
  token?: string
  username?: string
  password?: string
  as?: string
  asGroup?: readonly string[]
  asUid?: string
  certificateAuthority?: string
  clientCertificate?: string
  clientKey?: string
  insecureSkipTlsVerify?: boolean
  tlsServerName?: string
  /** `0` or absent: no limit; a number of seconds; or a Go duration (`5s`, `1m30s`). For each request. */
  requestTimeout?: string
  namespace?: string
}

/** What requests are sent with. */
export interface Credentials {
  headers: Readonly<Record<string, string>>
  /** PEM. */
  cert?: string | Buffer
  key?: string | Buffer
}

export interface Connection {
  /** Address of the API, perhaps with a path below which it lies; without a slash at its end. */
  server: string
  /** For messages; null when no context was used. */
  context: string | null
  /** Of the context, `--namespace`, or the pod's own in a cluster; `default` when none says. */
  namespace: string
  tls: {
    /** PEM. */
    ca?: string | Buffer
    rejectUnauthorized: boolean
    servername?: string
  }
  /** Address of the proxy to go through: http, https or socks5. */
  proxy: string | null
  /** For each request, from its start to its last byte; null: none. */
  timeoutMs: number | null
  compress: boolean
  /** Impersonation. A header given several times is an array. */
  headers: Readonly<Record<string, string | string[]>>
  /**
   * Who asks. With `refresh`, credentials that the server has refused are got anew (exec plugin, token file); null when that can't help.
   * @throws {ServerError} when they can't be had.
   */
  credentials(refresh: boolean): Promise<Credentials | null>
}
