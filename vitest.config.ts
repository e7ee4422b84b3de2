import { defineConfig } from 'vitest/config'

/**
 * `unit` beside the code, `real` with real servers (one file at a time: they share the machine). On a machine that others use too a real test may meet
 * a stall of seconds, which is a fault of its own to the product; only where CI runs is it given a second try, and what fails twice fails.
 */
export default defineConfig({
  test: {
    isolate: false,
    projects: [
      { test: { name: 'unit', include: ['{src,topology,failover,agents,test/model}/**/*.test.ts', 'test/{bench,support}/**/*.test.ts'], testTimeout: 30_000 } },
      { test: { name: 'real', include: ['test/real/**/*.test.ts'], maxWorkers: Number(process.env['REAL_WORKERS'] ?? 2), sequence: { groupOrder: 1 }, retry: process.env['CI'] ? 1 : 0, testTimeout: 120_000, hookTimeout: 120_000 } },
    ],
  },
})
