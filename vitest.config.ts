import { defineConfig } from 'vitest/config'

/**
 * A change is not refused for a race of a test: with REGENT_SECOND_TRY it is run once more, and `.ci/run` names it at
 * the end, since each is a bug to be found. Nobody else tries twice.
 */
const retry = process.env['REGENT_SECOND_TRY'] === 'true' ? 1 : 0
const real = { retry, maxWorkers: 2, sequence: { groupOrder: 1 }, testTimeout: 120_000, hookTimeout: 120_000 }

/**
 * `unit` beside the code; `real` with real servers, two files at a time (each cluster of a test has addresses of its
 * own); `long` likewise, for what takes long or goes wrong seldom: machines, disks, volumes, networks and stores that
 * fail; `kube` with a real kube-apiserver and etcd where their programs are here (`test/kube/global-setup.ts`); `e2e`
 * on a real cluster with Regent on it, one file at a time (`test/e2e/main.ts` runs it where it reaches one).
 */
export default defineConfig({
  test: {
    isolate: false,
    projects: [
      {
        test: {
          name: 'unit',
          maxWorkers: 3,
          include: [
            '{src,topology,failover,agents,test/simulation}/**/*.test.ts',
            'test/{bench,campaign,demo,mutations,support}/**/*.test.ts',
          ],
          testTimeout: 30_000,
          // A process of a busy machine may stand still for a second.
          expect: { poll: { timeout: 10_000 } },
        },
      },
      { test: { ...real, name: 'real', include: ['test/servers/short/**/*.test.ts'] } },
      { test: { ...real, name: 'long', include: ['test/servers/long/**/*.test.ts'] } },
      {
        test: {
          ...real,
          name: 'kube',
          include: ['test/kube/**/*.test.ts'],
          globalSetup: 'test/kube/global-setup.ts',
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'e2e',
          retry,
          include: ['test/e2e/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 600_000,
          hookTimeout: 300_000,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
})
