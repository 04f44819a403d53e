import { describe, expect, it } from 'vitest'
import type { DrainReport, PodReport } from '../../src/drain/types.js'
import { renderDrainReport, renderNames } from '../../src/drain/view.js'
import { displayWidth } from '../../src/present/text.js'
import { busyCluster, CACHE_MESSAGE, pod, recordedCluster, report } from './sample-report.js'

const render = (of: DrainReport, width = 100, wide = false) => renderDrainReport(of, { width, color: false, wide })
/** The first paragraph as one line per sentence, however it was wrapped. */
const answer = (of: DrainReport) => render(of, 1000).split('\n\n')[0]?.trim().split('\n') ?? []
const flat = (text: string) => text.replace(/\s+/g, ' ')

describe('the answer', () => {
  it('counts how pods end, the worst first, and then what happens to data', () => {
    expect(answer(recordedCluster())).toEqual([
      'Draining k8s-node-2 now: 1 pod stays Pending, 1 is held by its budget, 1 is gone for good.',
      'Data at risk: 1 pod may start over an empty directory, 1 loses an emptyDir.',
    ])
  })

  it('has plurals', () => {
    const pods = ['a/a', 'a/b'].flatMap((id) => [
      pod(`${id}1`, 'stuck'),
      pod(`${id}2`, 'gone'),
      pod(`${id}3`, 'moves', {
        effects: [
          { effect: 'data-lost', volume: 'x' },
          { effect: 'quorum', of: `StatefulSet ${id}`, down: 2, bears: 1 },
        ],
      }),
    ])
    expect(answer(report(pods, { nodes: ['n1', 'n2'] }))).toEqual([
      'Draining n1 and n2 now: 2 pods stay Pending, 2 are gone for good, 2 quorums are at risk.',
      'Data at risk: 2 pods lose an emptyDir.',
    ])
  })

  it('names data alone when that is all', () => {
    const pods = [pod('a/b', 'moves', { effects: [{ effect: 'starts-empty', volume: 'data', path: '/srv' }] })]
    expect(answer(report(pods))).toEqual(['Draining k8s-node-2 now: 1 pod may start over an empty directory.'])
  })

  it('says plainly when it is safe', () => {
    const pods = [pod('a/a', 'moves'), pod('a/b', 'moves'), pod('a/c', 'stays'), pod('a/d', 'finished')]
    expect(answer(report(pods))).toEqual([
      'Draining k8s-node-2 is safe: 2 pods move to another node, 1 stays, 1 has finished.',
    ])
    expect(answer(report([]))).toEqual(['Draining k8s-node-2 is safe: there is no pod to evict.'])
  })

  it('does not name more than three nodes', () => {
    const nodes = ['a', 'b', 'c', 'd']
    expect(answer(report([], { nodes }))[0]).toMatch(/^Draining 4 nodes is safe/)
    expect(answer(report([], { nodes: nodes.slice(1) }))[0]).toMatch(/^Draining b, c and d is safe/)
  })

  it('tells what was accepted apart from what was not', () => {
    const pods = [pod('a/a', 'stuck'), pod('a/b', 'gone')]
    expect(answer(report(pods, { notSafe: ['stuck'] }))).toEqual([
      'Draining k8s-node-2 now: 1 pod stays Pending.',
      'Accepted: 1 pod is gone for good.',
    ])
    expect(answer(report(pods, { notSafe: [] }))).toEqual([
      'Draining k8s-node-2 is safe but for what is accepted: 1 pod stays Pending, 1 is gone for good.',
    ])
  })

  it.each([false, true])('never says safe when it is incomplete (cordon only: %s)', (cordonOnly) => {
    const cases = [[], [pod('a/a', 'moves')], [pod('a/a', 'stays')], [pod('a/a', 'gone')], [pod('a/a', 'stuck')]]
    for (const pods of cases) {
      for (const notSafe of [[], report(pods).notSafe]) {
        const text = answer(report(pods, { complete: false, cordonOnly, notSafe })).join(' ')
        expect(text).toContain('answer is incomplete')
        expect(text).not.toMatch(/safe/i)
      }
    }
  })

  it('says what was found when it is incomplete and not safe', () => {
    expect(answer(report([pod('a/a', 'stuck')], { complete: false }))).toEqual([
      'Draining k8s-node-2 now: 1 pod stays Pending.',
      'The answer is incomplete: there may be more (see the warnings).',
    ])
  })

  it('has words of its own for --cordon-only', () => {
    const cordon = (pods: PodReport[], rest: Partial<DrainReport> = {}) =>
      answer(
        report(pods, {
          cordonOnly: true,
          drainCommand: null,
          notSafe: pods.some((p) => p.verdict === 'stuck') ? ['stuck'] : [],
          ...rest,
        }),
      )
    expect(cordon([pod('a/a', 'stuck'), pod('a/b', 'moves')])).toEqual([
      'Cordoning k8s-node-2 evicts nothing, but 1 pod would stay Pending if it were re-created.',
    ])
    expect(cordon([pod('a/b', 'moves'), pod('a/c', 'returns')])).toEqual([
      'Cordoning k8s-node-2 evicts nothing and is safe: 1 pod could come back to the same node, 1 would find another node.',
    ])
    expect(cordon([], { claims: [{ namespace: 'a', name: 'b', selectedNode: 'k8s-node-2' }] })).toEqual([
      'Cordoning k8s-node-2 evicts nothing, but 1 unbound claim loses the node that was selected for it.',
    ])
    const stuckWithClaims = cordon([pod('a/a', 'stuck')], {
      claims: ['b', 'c'].map((name) => ({ namespace: 'a', name, selectedNode: 'k8s-node-2' })),
    })
    expect(stuckWithClaims[0]).toContain(
      'but 1 pod would stay Pending if it were re-created, 2 unbound claims lose the node',
    )
  })
})

describe('the table', () => {
  const podColumn = (text: string) =>
    (text.split('\n\n')[1] ?? '')
      .split('\n')
      .slice(1)
      .map((line) => line.split(' ')[0])
      .filter(Boolean)

  it('has the worst first, then namespace and name', () => {
    const pods = [
      pod('b/stays', 'stays'),
      pod('b/finished', 'finished'),
      pod('b/moves', 'moves'),
      pod('b/flag', 'moves', { effects: [{ effect: 'needs-flag', flag: '--delete-emptydir-data' }] }),
      pod('b/loses', 'moves', { effects: [{ effect: 'data-lost', volume: 'tmp' }] }),
      pod('b/returns', 'returns'),
      pod('b/gone', 'gone'),
      pod('b/blocked', 'blocked'),
      pod('b/stuck', 'stuck'),
      pod('a/stuck', 'stuck'),
    ]
    const order = [
      'a/stuck',
      'b/stuck',
      'b/blocked',
      'b/gone',
      'b/returns',
      'b/loses',
      'b/flag',
      'b/moves',
      'b/finished',
      'b/stays',
    ]
    expect(podColumn(render(report(pods)))).toEqual(order)
    expect(podColumn(render(report(pods.toReversed())))).toEqual(order)
  })

  it('is as wide as the recorded cluster needs, each pod with its reason', () => {
    const text = render(recordedCluster())
    expect(text).toContain('POD                           OWNER                 ENDS     WHY\n')
    expect(text).toMatch(
      /^demo\/cache-7c7564cb5b-s7tpb {3}Deployment\/cache {6}stuck {4}volume pvc-d99d4407… \(claim cache\)/m,
    )
    expect(text).toMatch(/^demo\/debug-shell {14}– {21}gone {5}no controller re-creates it$/m)
    expect(flat(text)).toContain('hostPath /srv/reports (claim reports) is bound to no node: it may start empty')
    expect(text).toContain('once evicted, it moves to another node')
  })

  it('says every effect in words', () => {
    const text = flat(
      render(
        report([
          pod('a/b', 'moves', {
            effects: [
              { effect: 'needs-flag', flag: '--force' },
              { effect: 'data-lost', volume: 'tmp' },
              { effect: 'waits-for-budget', budget: 'a/web', after: ['a/c'] },
              { effect: 'preempts', node: 'n1', victims: ['x/1', 'x/2', 'x/3', 'x/4', 'x/5'] },
              { effect: 'contended', node: 'n1', with: ['a/d', 'a/e'] },
              { effect: 'quorum', of: 'StatefulSet a/b', down: 2, bears: 1 },
              { effect: 'loses-fuse-server', claims: ['a/s3'] },
            ],
          }),
        ]),
        300,
      ),
    )
    for (const words of [
      'loses emptyDir tmp',
      'budget a/web lets it go when a/c is back',
      'fits on n1 only by preempting x/1, x/2, x/3 and 2 more',
      'may stay Pending: a/d, a/e may take the room on n1',
      '2 of StatefulSet a/b go down together; it bears 1',
      'what serves the FUSE mount of a/s3 goes before it',
    ]) {
      expect(text).toContain(words)
    }
    // The command has the flag; only -o wide says which pod wants it.
    expect(text).not.toContain('--force')
  })

  it('names the node when there are several, and volumes and feasible nodes when wide', () => {
    expect(render(recordedCluster(), 300)).not.toContain('NODE')
    expect(render(busyCluster(), 300)).toMatch(/^POD +NODE +OWNER +ENDS +WHY$/m)
    const wide = render(recordedCluster(), 300, true)
    expect(wide).toMatch(/^POD +NODE +OWNER +ENDS +VOLUMES +FEASIBLE NODES +WHY$/m)
    expect(wide).toMatch(/^demo\/web-\S+ +k8s-node-2 +Deployment\/web +blocked +tmp: emptyDir +k8s-node-1 /m)
    expect(wide).toContain('data: claim cache, pvc-d99d4407-37d6-4b6c-8f5e-1f1e0f6f2a11, hostPath')
    expect(wide).toContain('drain needs --delete-emptydir-data')
  })

  it('counts the pods that end well when they are many, and -o wide lists them', () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => pod(`a/web-${i}`, 'moves'))
    expect(render(report(many(15)))).toContain('a/web-14')
    const text = render(report([...many(30), pod('a/x', 'stays'), pod('a/bad', 'stuck')]))
    expect(text).toMatch(/^30 pods +moves +another node takes each of them \(-o wide lists them\)$/m)
    expect(text).toContain('a/bad')
    expect(text).toContain('a/x')
    expect(text).not.toContain('a/web-14')
    expect(render(report(many(30)), 100, true)).toContain('a/web-14')
  })

  it('marks uncertain pods, never counts them away, and says why', () => {
    const pods = Array.from({ length: 20 }, (_, i) =>
      pod(
        `a/web-${String(i).padStart(2, '0')}`,
        'moves',
        i === 7
          ? { uncertain: true, uncertainReasons: ['it names schedulerName volcano, whose rules are not known'] }
          : {},
      ),
    )
    const text = render(report(pods, { complete: false }))
    expect(text).toMatch(/^a\/web-07 .* moves\? /m)
    expect(text).toContain('  a/web-07: it names schedulerName volcano, whose rules are not known\n')
    expect(text).toMatch(/^19 pods /m)
  })
})

describe('below the table', () => {
  it("has the scheduler's words, once for all pods that get them", () => {
    const scheduling = { feasibleNodes: [], message: CACHE_MESSAGE, nominatedNode: null }
    const pods = [1, 2, 3, 4, 5].map((i) => pod(`a/web-${i}`, 'stuck', { scheduling }))
    const text = render(
      report([...pods, pod('a/x', 'gone', { scheduling: { ...scheduling, message: 'never printed' } })]),
    )
    expect(text).toContain(
      "\na/web-1, a/web-2, a/web-3 and 2 more, in the scheduler's words:\n  0/3 nodes are available: ",
    )
    expect(flat(text).split(CACHE_MESSAGE)).toHaveLength(2)
    expect(text).not.toContain('never printed')
  })

  it('has them for a blocked pod too that would then stay Pending', () => {
    const scheduling = { feasibleNodes: [], message: 'no way', nominatedNode: null }
    const pods = [pod('a/b', 'blocked', { budgets: ['b'], then: { verdict: 'stuck' }, scheduling })]
    expect(render(report(pods))).toContain("a/b, in the scheduler's words:\n  no way\n")
  })

  it('lists volumes that no pod uses, and claims that wait for the node', () => {
    const text = render(busyCluster(), 120)
    expect(text).toContain('On worker-b.example.internal and worker-c.example.internal too, used by no running pod:\n')
    expect(text).toMatch(/^ {2}worker-c-disk1 +Released +worker-c.example.internal +local +shop\/gone \(released\)$/m)
    expect(text).toContain('\n  shop/redis-data on worker-b.example.internal\n')
  })

  it('ends with what to do: each step once, then the command', () => {
    const next = ['kubectl storage relocate pvc cache -n demo --to k8s-node-1']
    const text = render(report([pod('a/a', 'stuck', { next }), pod('a/b', 'stuck', { next })]))
    expect(text).toMatch(
      /\n\nFirst {3}kubectl storage relocate pvc cache -n demo --to k8s-node-1\n {8}relocate comes with a later version[^\n]+\nThen {4}kubectl drain k8s-node-2\n$/,
    )
    const instead = ['kubectl delete pvc cache -n demo   # starts empty elsewhere']
    expect(render(report([pod('a/a', 'stuck', { next: ['wait'], instead })]))).toMatch(
      /\n\nFirst {3}wait\nOr {6}kubectl delete pvc[^\n]+\nThen {4}kubectl drain k8s-node-2\n$/,
    )
    expect(render(report([]))).toMatch(/\n\nRun {5}kubectl drain k8s-node-2\n$/)
    expect(render(report([pod('a/a', 'stuck', { next })], { cordonOnly: true, drainCommand: null }))).toMatch(
      /\n\nFix {5}kubectl storage [^\n]+\n {8}relocate comes [^\n]+\n$/,
    )
  })

  it('says that the command has to wait for the budget', () => {
    expect(render(recordedCluster())).toMatch(
      /\nThen {4}kubectl drain [^\n]+\n {8}when budget demo\/web is dealt with; until then drain only retries\n$/,
    )
  })
})

describe('at any width', () => {
  const hostile = (): DrainReport => {
    const evil = '\u001b]0;x\u0007\u001b[2J\n\u202eFORGED\u200b\u009b31m'
    const scheduling = { feasibleNodes: [evil], message: evil, nominatedNode: evil }
    return report(
      [
        pod(`${evil}/${evil}`, 'stuck', {
          node: evil,
          owner: { apiVersion: evil, kind: evil, name: evil },
          scheduling,
          why: evil,
          next: [evil, `kubectl ${evil}`],
          effects: [
            { effect: 'starts-empty', volume: evil, path: evil },
            { effect: 'contended', node: evil, with: [evil] },
          ],
          volumes: [
            {
              name: evil,
              claim: evil,
              volume: evil,
              source: evil,
              affinity: 'pinned',
              pinnedTo: [evil],
              path: evil,
              driver: evil,
            },
          ],
          uncertain: true,
          uncertainReasons: [evil],
        }),
        pod('a/b', 'blocked', { budgets: [evil], then: { verdict: 'moves' } }),
      ],
      {
        nodes: [evil, 'x'],
        volumes: [{ name: evil, phase: evil, source: evil, pinnedTo: [evil], claim: evil, reason: 'released' }],
        claims: [{ namespace: evil, name: evil, selectedNode: evil }],
        drainCommand: `kubectl drain ${evil}`,
      },
    )
  }
  const widths = [20, 40, 50, 60, 72, 80, 90, 100, 120, 160, 250]
  const reports = { recorded: recordedCluster(), busy: busyCluster(), hostile: hostile() }

  it.each(Object.entries(reports))('no line of the %s report is too long but commands', (_, of) => {
    for (const width of widths) {
      for (const wide of [false, true]) {
        for (const line of render(of, width, wide).split('\n')) {
          if (!/^(\w+ +| +)kubectl /.test(line)) expect(displayWidth(line), line).toBeLessThanOrEqual(width)
          expect(line).toBe(line.trimEnd())
        }
      }
    }
  })

  it('nothing from the cluster reaches the terminal as a control sequence', () => {
    for (const width of widths) {
      for (const wide of [false, true]) {
        const text = renderDrainReport(hostile(), { width, wide, color: false })
        expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
        expect(text).not.toMatch(/^FORGED/m)
        const painted = renderDrainReport(hostile(), { width, wide, color: true })
        expect(painted.replace(/\u001b\[(?:1|2|22|31|32|33|39)m/g, '')).toBe(text)
      }
    }
    expect(renderNames(hostile()).join('')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  })

  it('names are whole, so that they can be copied', () => {
    const longest = 'kube-prometheus-stack-prometheus-node-exporter-0'
    for (const width of [60, 80, 100, 120, 160]) expect(render(busyCluster(), width)).toContain(longest)
    for (const width of [40, 60, 80, 100])
      expect(render(recordedCluster(), width)).toContain('demo/cache-7c7564cb5b-s7tpb')
  })

  it('a pod is a small record where there is no room for a table', () => {
    const text = render(recordedCluster(), 50)
    expect(text).toContain(
      '\n\ndemo/web-7d6b86d545-jq5ld  blocked\n  Deployment/web\n  budget web needs 2 of 2, 0 may go\n',
    )
    expect(text).not.toContain('ENDS')
  })

  it('everything is said at every width', () => {
    const words = (text: string) => new Set(text.split(/\s+/))
    const all = words(render(recordedCluster(), 250))
    for (const width of [40, 60, 80, 100]) {
      const missing = [...all].filter((word) => !words(render(recordedCluster(), width)).has(word))
      expect(missing.filter((word) => !['POD', 'OWNER', 'ENDS', 'WHY', '–'].includes(word))).toEqual([])
    }
  })
})

describe('-o name', () => {
  it('names the pods that make it exit 3, sorted', () => {
    expect(renderNames(recordedCluster())).toEqual([
      'pod/demo/cache-7c7564cb5b-s7tpb',
      'pod/demo/debug-shell',
      'pod/demo/reports-0',
      'pod/demo/web-7d6b86d545-jq5ld',
    ])
  })

  it('leaves out what was accepted', () => {
    expect(renderNames({ ...recordedCluster(), notSafe: ['data-lost', 'stuck'] })).toEqual([
      'pod/demo/cache-7c7564cb5b-s7tpb',
      'pod/demo/web-7d6b86d545-jq5ld',
    ])
    expect(renderNames({ ...recordedCluster(), notSafe: [] })).toEqual([])
  })
})
