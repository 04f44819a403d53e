import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../cli/base-command.js'
import { UsageError } from '../cli/errors.js'
import { EXIT, type ExitCode } from '../cli/exit-codes.js'
import { connectionOf } from '../cli/flags.js'
import type { CommandResult } from '../cli/result.js'
import { didYouMean } from '../cluster/closest.js'
import { parseSelector } from '../cluster/labels.js'
import { type OwnerWanted, readCluster } from '../cluster/read.js'
import type { ClusterSnapshot, KindName } from '../cluster/snapshot.js'
import { type DrainOptions, planDrain } from '../drain/plan.js'
import { controllerOf } from '../drain/rules/drain-filters.js'
import { resolveTargets, type Selection, type Targets } from '../drain/targets.js'
import { ACCEPTABLE, type Acceptable, type DrainReport } from '../drain/types.js'
import { renderDrainReport, renderNames } from '../drain/view.js'

export default class DrainCheck extends BaseCommand {
  static override readonly summary = 'Tell what kubectl drain of these nodes would do, before it is done'

  static override readonly description =
    'Every pod on the nodes gets one verdict: stays, finished, blocked, gone, stuck, returns or moves; and the effects ' +
    'that come with it: flags that drain will demand, data that goes with the pod, volumes that come up empty elsewhere. ' +
    'Nothing is changed in the cluster.\n\n' +
    'Exit code: 0 safe; 3 not safe (see --accept); 7 safe as far as could be read, but not all could; 2 usage; ' +
    '6 the cluster could not be read.'

  static readonly flagHints = Object.fromEntries(
    ['ignore-daemonsets', 'delete-emptydir-data', 'delete-local-data', 'force', 'grace-period', 'timeout', 'dry-run']
      .concat(['disable-eviction', 'skip-wait-for-delete-timeout', 'chunk-size'])
      .map((name) => [name, 'leave out the flags of kubectl drain: the report names those that it will demand']),
  )

  static override readonly usage = ['drain-check [NODE...] [FLAGS]']

  static override readonly examples = [
    {
      description: 'The cluster that ships with the plugin, recorded before a drain of its node k8s-node-2',
      command: '<%= config.bin %> <%= command.id %> k8s-node-2 --from demo',
    },
  ]

  static override readonly args = {
    node: Args.string({
      name: 'NODE',
      description: 'nodes to drain, in this order',
      multiple: true,
      ignoreStdin: true,
    }),
  }

  static override readonly flags = {
    selector: Flags.string({
      char: 'l',
      helpValue: 'SELECTOR',
      description: 'label selector of the nodes to drain',
    }),
    'pod-selector': Flags.string({
      helpValue: 'SELECTOR',
      description: 'only pods with these labels are evicted, as with kubectl drain',
    }),
    pod: Flags.string({
      helpValue: 'NAMESPACE/NAME',
      description: 'only this pod; without a node, its own node; may be repeated',
      multiple: true,
      multipleNonGreedy: true,
    }),
    'cordon-only': Flags.boolean({
      description: 'nothing is evicted: what would become of each pod if it alone were re-created',
    }),
    accept: Flags.string({
      helpValue: 'WORD,WORD',
      description: `verdicts and effects that are not held against the drain: ${ACCEPTABLE.join(', ')}`,
      multiple: true,
      multipleNonGreedy: true,
    }),
    from: Flags.string({
      helpValue: 'FILE|DIR|-|demo',
      description: 'read the cluster from a dump instead of a server; may be repeated',
      multiple: true,
      multipleNonGreedy: true,
    }),
  }

  override async run(): Promise<CommandResult> {
    const { args, flags } = await this.parse(DrainCheck)
    // As `kubectl get -o name` prints them, and kubectl drain takes them.
    const names = (args.node ?? []).map((name) => name.replace(/^nodes?\//, ''))
    const selector = flags.selector === '' ? undefined : flags.selector
    const pods = (flags.pod ?? []).map((text) => podName(text, flags.namespace))
    const accept = acceptedWords(flags.accept ?? [])
    if (names.length === 0 && selector === undefined && pods.length === 0) {
      throw new UsageError('which nodes? none was named', [
        'name them: kubectl storage drain-check NODE...',
        'or select them by label: -l SELECTOR',
        'or name pods: --pod NAMESPACE/NAME',
      ])
    }
    if (names.length > 0 && selector !== undefined) {
      throw new UsageError('nodes are given by name or by -l, not both, as with kubectl drain')
    }
    const podSelector = flags['pod-selector'] ? parseSelector(flags['pod-selector']) : null
    const selection: Selection = {
      nodes: names,
      nodeSelector: selector === undefined ? null : parseSelector(selector),
      pods,
      podSelector,
    }

    const { env, stdin, signal } = this.context
    const snapshot = await readCluster({
      from: flags.from,
      stdin,
      connection: connectionOf(flags),
      env,
      kinds: KINDS,
      ownersOf: (read) => ownersToRead(read, selection),
      signal,
      debug: (line) => this.context.debug(REQUESTS_LEVEL, line),
    })
    const targets = resolveTargets(snapshot, selection)
    if ('problem' in targets) throw targetError(targets, selector)
    const options: DrainOptions = {
      nodes: targets.nodes,
      nodeSelectorText: selector ?? null,
      podSelector,
      podSelectorText: podSelector === null ? null : (flags['pod-selector'] ?? null),
      pods,
      cordonOnly: flags['cordon-only'],
      accept,
      connection: (['context', 'kubeconfig', 'cluster', 'user', 'server', 'as'] as const).flatMap((name) => {
        const value = flags[name]
        return value === undefined ? [] : [`--${name}`, value]
      }),
    }
    const report = this.context.compute(() => planDrain(snapshot, options))
    return {
      exitCode: exitCodeOf(report),
      document: report,
      table: (style) => renderDrainReport(report, style),
      names: () => renderNames(report),
      warnings: report.warnings,
    }
  }
}

/** From this `-v` on, requests are named. */
const REQUESTS_LEVEL = 6

const KINDS: readonly KindName[] = [
  'Node',
  'Pod',
  'PersistentVolumeClaim',
  'PersistentVolume',
  'StorageClass',
  'CSINode',
  'CSIDriver',
  'CSIStorageCapacity',
  'VolumeAttachment',
  'PodDisruptionBudget',
  'Namespace',
]

/** The controllers of the pods on the nodes asked about; of a question that can't be answered, none. */
function ownersToRead(snapshot: ClusterSnapshot, selection: Selection): OwnerWanted[] {
  const targets = resolveTargets(snapshot, selection)
  if ('problem' in targets) return []
  const nodes = new Set(targets.nodes)
  return snapshot.objects.Pod.filter((pod) => nodes.has(pod.spec?.nodeName ?? '')).flatMap((pod) => {
    const reference = controllerOf(pod)
    // Pods and nodes can be controllers, too, and are read anyway.
    if (reference === undefined || (reference.apiVersion === 'v1' && ['Pod', 'Node'].includes(reference.kind)))
      return []
    return [{ namespace: pod.metadata.namespace, reference }]
  })
}

function targetError(targets: Extract<Targets, { problem: string }>, selector: string | undefined): UsageError {
  const near = targets.unknown === undefined ? [] : didYouMean(targets.unknown, targets.known ?? [])
  const suggestions = near.map((name) => `did you mean ${name}?`)
  if (near.length === 0 && targets.known !== undefined && targets.known.length > 0 && targets.known.length <= 12) {
    suggestions.push(`there are: ${targets.known.join(', ')}`)
  }
  return new UsageError(selector === undefined ? targets.problem : `${targets.problem}: -l ${selector}`, suggestions)
}

export function exitCodeOf(report: DrainReport): ExitCode {
  if (report.notSafe.length > 0) return EXIT.notSafe
  return report.complete ? EXIT.ok : EXIT.incomplete
}

function podName(text: string, namespace: string | undefined): { namespace: string; name: string } {
  // Also as -o name prints it.
  const [first, second, ...more] = text.replace(/^pods?\/(?=[^/]+\/)/, '').split('/')
  if (first && second && more.length === 0) return { namespace: first, name: second }
  if (first && second === undefined && namespace) return { namespace, name: first }
  throw new UsageError(`--pod wants NAMESPACE/NAME, not ${text}`)
}

function acceptedWords(given: readonly string[]): Acceptable[] {
  const words = given.flatMap((list) => list.split(',')).map((word) => word.trim())
  return words
    .filter((word) => word !== '')
    .map((word) => {
      const known = ACCEPTABLE.find((acceptable) => acceptable === word)
      if (known !== undefined) return known
      const near = didYouMean(word, ACCEPTABLE)
      throw new UsageError(`--accept does not know the word ${word}`, [
        ...near.map((name) => `did you mean ${name}?`),
        `words: ${ACCEPTABLE.join(', ')}`,
      ])
    })
}
