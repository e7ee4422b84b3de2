import { defineConfig } from 'vitest/config'

/** `unit` beside the code, `real` with real servers (one file at a time: they share the machine), `long` by hand. */
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['{src,topology,failover,agents,test/model}/**/*.test.ts', 'test/{bench,support}/**/*.test.ts'], testTimeout: 30_000 } },
      { test: { name: 'real', include: ['test/real/**/*.test.ts'], fileParallelism: false, testTimeout: 120_000, hookTimeout: 120_000 } },
      { test: { name: 'long', include: ['test/long/**/*.test.ts'], fileParallelism: false, testTimeout: 600_000, hookTimeout: 300_000 } },
    ],
  },
})
