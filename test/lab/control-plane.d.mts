export interface ControlPlaneOptions {
  bin: string
  etcd: string
  apiServer?: string
  scheduler?: string
  gates?: string
  port: number
  folder?: string
  env?: Record<string, string>
}

export interface ControlPlane {
  call(method: string, path: string, body?: object, type?: string): Promise<{ status: number; body: unknown }>
  watch(path: string, seen: (event: unknown) => void): Promise<void>
  stop(): Promise<void>
}

export function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane>
