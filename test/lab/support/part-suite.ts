import { it } from 'vitest'
import { type Chooser, shareOf } from './share.js'

/**
 * A suite that is run in part: `add` its tests, then `register` them, once, at the end of the file. Those that are not chosen are no
 * tests of this run (a skipped test would look like one that has something wrong), and are named in its output.
 */
export class PartSuite {
  readonly #tests: { name: string; test: () => Promise<void> }[] = []

  constructor(
    private readonly lab: Chooser,
    private readonly name: string,
    private readonly count: number,
  ) {}

  add(name: string, test: () => Promise<void>): void {
    if (this.#tests.some((other) => other.name === name)) throw new Error(`${this.name} has two tests named ${name}`)
    this.#tests.push({ name, test })
  }

  register(): void {
    const chosen = shareOf(this.lab, this.name, this.#tests, this.count)
    const others = this.#tests.filter((test) => !chosen.includes(test)).map(({ name }) => `  ${name}\n`)
    if (others.length > 0)
      process.stdout.write(
        `${this.name}: seed ${this.lab.seed} chose ${chosen.length} of ${this.#tests.length} tests; not run (--full runs them):\n${others.join('')}`,
      )
    for (const { name, test } of chosen) it(name, test)
  }
}
