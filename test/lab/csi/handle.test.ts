import { describe, expect, it } from 'vitest'
import { busEscape, stagingPath, unitOf } from './handle.js'

describe('the unit of a volume', () => {
  it.each([
    ['k8s-volumes/pvc-1', 'k8s_2dvolumes_2fpvc_2d1'],
    ['1abc', '_31abc'],
    ['a_b', 'a_5fb'],
    ['é', '_c3_a9'],
    ['', '_'],
  ])('escapes %j as go-systemd does', (text, escaped) => {
    expect(busEscape(text)).toBe(escaped)
  })

  it('is a service', () => {
    expect(unitOf('k8s-volumes/pvc-x')).toBe('geesefs-k8s_2dvolumes_2fpvc_2dx.service')
  })
})

it('stages where the kubelet does', () => {
  expect(stagingPath('a')).toBe(
    '/var/lib/kubelet/plugins/kubernetes.io/csi/ru.yandex.s3.csi/ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb/globalmount',
  )
})
