import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../cli/base-command.js'
import { UsageError } from '../cli/errors.js'
import { EXIT, type ExitCode } from '../cli/exit-codes.js'
import type { CommandResult } from '../cli/result.js'
import { didYouMean } from '../cli/suggest.js'
import { ACCEPTABLE, type Acceptable, type DrainReport } from '../drain/types.js'

export default class DrainCheck extends BaseCommand {
  static override readonly summary = 'Tell what kubectl drain of these nodes would do, before it is done'

  static override readonly description =
    `Every pod on the nodes gets one verdict: stays, finished, blocked, gone, stuck, returns or moves; and the effects
that come with it: flags that drain will demand, data that goes with the pod, volumes that come up empty elsewhere.
Nothing is changed in the cluster.

Exit code: 0 safe; 3 not safe (see --accept); 7 safe as far as could be read, but not all could; 2 usage;
6 the cluster could not be read.`

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
    const nodes = args.node ?? []
    const pods = (flags.pod ?? []).map((text) => podName(text, flags.namespace))
    const accept = acceptedWords(flags.accept ?? [])
    if (nodes.length === 0 && flags.selector === undefined && pods.length === 0) {
      throw new UsageError('which nodes? none was named', [
        'name them: kubectl storage drain-check NODE...',
        'or select them by label: -l SELECTOR',
        'or name pods: --pod NAMESPACE/NAME',
      ])
    }
    if (nodes.length > 0 && flags.selector !== undefined) {
      throw new UsageError('nodes are given by name or by -l, not both, as with kubectl drain')
    }
    throw new Error(`not wired yet ${nodes} ${pods} ${accept}`)
  }
}

export function exitCodeOf(report: DrainReport): ExitCode {
  if (report.notSafe.length > 0) return EXIT.notSafe
  return report.complete ? EXIT.ok : EXIT.incomplete
}

function podName(text: string, namespace: string | undefined): { namespace: string; name: string } {
  const [first, second, ...more] = text.split('/')
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
