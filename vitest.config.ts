import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These need root and the lab: npm run test:lab and test:lab-start.
    exclude: ['test/lab/**/*.{lab,start}.test.ts'],
    // The tests of the CLI run what a user runs, the bundle, so it must be of the sources that are tested.
    globalSetup: ['test/build.ts'],
    testTimeout: 30_000,
  },
})
