import { defineConfig } from 'vitest/config'
import { preparedMysqld } from './test/support/prepared-folders/paths.ts'
import { LongestFirst } from './test/support/longest-first.ts'
import { SlowestFiles } from './test/support/slowest-files.ts'

/** A process of a busy machine may stand still for seconds, in a hook as in a test. */
const patient = { testTimeout: 600_000, hookTimeout: 600_000 }
const servers = {
  ...patient,
  globalSetup: 'test/support/prepared-folders/global-setup.ts',
  env: { REGENT_MYSQLD: preparedMysqld },
}
/** Their tests wait for servers more than they compute: three files share two processors well. */
const together = { maxWorkers: 3, sequence: { groupOrder: 1 } }

/**
 * `unit` beside the code; `real` with real servers, three files at a time (each cluster of a test has addresses of its
 * own); `long` likewise, for what takes long or goes wrong seldom: machines, disks, volumes, networks and stores that
 * fail; `kube` with a real kube-apiserver and etcd where their programs are here; `e2e` on a real cluster with Regent on
 * it, one file at a time (`test/e2e/main.ts` runs it where it reaches one). No test is tried twice.
 */
export default defineConfig({
  test: {
    isolate: false,
    sequence: { sequencer: LongestFirst },
    setupFiles: ['test/support/draws.ts', 'test/support/patient-waits.ts', 'test/support/said-as-text.ts'],
    reporters: ['default', new SlowestFiles()],
    projects: [
      {
        test: {
          ...patient,
          name: 'unit',
          maxWorkers: 3,
          include: [
            '{src,topology,failover,agents,test/simulation}/**/*.test.ts',
            'test/{all,bench,campaign,demo,mutations,support}/**/*.test.ts',
          ],
        },
      },
      { test: { ...servers, ...together, name: 'real', include: ['test/servers/short/**/*.test.ts'] } },
      {
        test: {
          ...patient,
          ...together,
          name: 'kube',
          include: ['test/kube/**/*.test.ts'],
          globalSetup: 'test/kube/global-setup.ts',
        },
      },
      {
        test: {
          ...servers,
          name: 'long',
          include: ['test/servers/long/**/*.test.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...patient,
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
})
