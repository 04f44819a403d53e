import { defineConfig } from 'vitest/config'

/** The suites that need root and the lab: there is one lab at a time, so one test at a time. */
export default defineConfig({
  test: {
    fileParallelism: false,
    projects: [
      {
        test: {
          // In a lab that is up: `npm run test:lab` starts it, this, and takes it down.
          name: 'lab',
          include: ['test/lab/**/*.lab.test.ts'],
          globalSetup: ['test/build.ts', 'test/lab/support/setup.ts'],
          testTimeout: 300_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          // Starting and taking down itself: `npm run test:lab-start`.
          name: 'start',
          include: ['test/lab/**/*.start.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
})
