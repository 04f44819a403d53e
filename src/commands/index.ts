/** Every command, for oclif's own tools (the manifest). The program itself loads one at a time: see main.ts. */
import DrainCheck from './drain-check.js'

export const COMMANDS = { 'drain-check': DrainCheck }
