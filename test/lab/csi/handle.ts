/** Names that follow from a volume handle, the way k8s-csi-s3 and the kubelet make them. */
import { createHash } from 'node:crypto'

export const DRIVER = 'ru.yandex.s3.csi'

/** go-systemd's PathBusEscape: every byte outside [A-Za-z0-9], and a leading digit, becomes `_` and two hex digits; empty is `_`. */
export function busEscape(text: string): string {
  if (text === '') return '_'
  return [...Buffer.from(text)]
    .map((byte, at) => {
      const char = String.fromCharCode(byte)
      const kept = at === 0 ? /[A-Za-z]/ : /[A-Za-z0-9]/
      return kept.test(char) ? char : `_${byte.toString(16).padStart(2, '0')}`
    })
    .join('')
}

export function unitOf(handle: string): string {
  return `geesefs-${busEscape(handle)}.service`
}

export function dropInFolder(unit: string): string {
  return `/run/systemd/system/${unit}.d`
}

/** Where the kubelet has a volume staged. */
export function stagingPath(handle: string): string {
  const hash = createHash('sha256').update(handle).digest('hex')
  return `/var/lib/kubelet/plugins/kubernetes.io/csi/${DRIVER}/${hash}/globalmount`
}
