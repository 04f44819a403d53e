import { describe, expect, it } from 'vitest'
import { compareVersions, type Ground, listeningPorts, osRelease, problems } from './support/ground.js'

const good: Ground = {
  platform: 'linux',
  uid: 0,
  system: { ID: 'debian', VERSION_ID: '12', PRETTY_NAME: 'Debian GNU/Linux 12 (bookworm)' },
  devices: { '/dev/fuse': true, '/dev/loop-control': true },
  go: 'go1.26.8',
  goWanted: '1.26',
  listening: [22],
  links: ['eth0', 'lo'],
  run: undefined,
  fileSystems: ['overlay', 'fuse'],
}

describe('the ground of a lab', () => {
  it('can be good', () => {
    expect(problems(good)).toEqual([])
  })

  it.each<[string, Partial<Ground>, RegExp]>([
    ['no root', { uid: 1000 }, /needs root/],
    ['another system', { platform: 'darwin' }, /needs Linux; this is darwin/],
    [
      'another distribution',
      { system: { ID: 'ubuntu', VERSION_ID: '24.04', PRETTY_NAME: 'Ubuntu' } },
      /Debian 12.*Ubuntu/,
    ],
    [
      'another Debian',
      { system: { ID: 'debian', VERSION_ID: '13', PRETTY_NAME: 'Debian 13' } },
      /Debian 12.*Debian 13/,
    ],
    ['no FUSE device', { devices: { '/dev/fuse': false } }, /\/dev\/fuse is missing/],
    ['no overlay', { fileSystems: ['fuse'] }, /no overlay/],
    ['no Go', { go: undefined }, /Go is missing.*1\.26/],
    ['an old Go', { go: 'go1.19.8' }, /Go is too old.*1\.26.*1\.19\.8/],
    ['a port in use', { listening: [22, 6443] }, /Port 6443 \(API server\) is in use/],
    ['the bridge in use', { links: ['lab0'] }, /link lab0 is in use/],
    ['a lab that is up', { run: '/cache/run', listening: [2379, 6443] }, /already up.*\/cache\/run.*lab:down/],
  ])('tells %s', (_, fact, words) => {
    const found = problems({ ...good, ...fact })
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(words)
  })

  it('tells all that is wrong at once', () => {
    expect(problems({ ...good, uid: 1, go: undefined, listening: [2379] })).toHaveLength(3)
  })
})

describe('its facts', () => {
  it('compares versions by their numbers', () => {
    expect(compareVersions('1.9', '1.26')).toBeLessThan(0)
    expect(compareVersions('1.26.8', '1.26')).toBeGreaterThan(0)
    expect(compareVersions('1.26rc1', '1.26')).toBe(0)
  })

  it('reads /etc/os-release with and without quotes', () => {
    expect(osRelease('ID=debian\nVERSION_ID="12"\n')).toEqual({ ID: 'debian', VERSION_ID: '12' })
  })

  it('takes only ports that listen', () => {
    const table = [
      '  sl  local_address rem_address   st',
      '   0: 0100007F:094B 00000000:0000 0A 00000000:00000000',
      '   1: 0100007F:192B 0100007F:8000 01 00000000:00000000',
      '',
    ].join('\n')
    expect(listeningPorts(table)).toEqual([2379])
  })
})
