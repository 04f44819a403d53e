/**
 * The program: bin/run.js loads this and nothing else. What every start pays for stays as small as it can be; the rest is loaded
 * when the command line asks for it.
 */
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import pkg from '../package.json' with { type: 'json' }

const argv = process.argv.slice(2)

if (argv.length === 1 && argv[0] === '--version') {
  process.stdout.write(`${pkg.name}/${pkg.version}\n`)
} else {
  // What can't be written is seen by the write itself (cli/output.ts); here it must only not end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  const cancel = new AbortController()
  const onInterrupt = () => {
    // The second Ctrl-C does not wait for anything.
    if (cancel.signal.aborted) process.exit(130)
    cancel.abort()
  }
  process.on('SIGINT', onInterrupt)
  const { run, tellError } = await import('./cli/run.js')
  const streams = { stdout: process.stdout, stderr: process.stderr, stdin: process.stdin, env: process.env }
  // What is thrown in a callback of Node's reaches nobody else. It is a bug, and told like one.
  process.on('uncaughtException', async (error) => process.exit(await tellError(error, argv, streams)))
  const code = await run({
    argv,
    root: dirname(dirname(fileURLToPath(import.meta.url))),
    commands: {
      'drain-check': async () => (await import('./commands/drain-check.js')).default,
    },
    streams,
    signal: cancel.signal,
    compute: (work) => {
      // Without a listener the signal ends the process at once, also while nothing else gets a turn.
      process.off('SIGINT', onInterrupt)
      try {
        return work()
      } finally {
        process.on('SIGINT', onInterrupt)
      }
    },
  })
  // Everything is written; a connection that the server keeps open would hold the process.
  process.exit(code)
}
