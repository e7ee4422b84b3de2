import { afterAll, afterEach, beforeAll } from 'vitest'
import { startCluster, type StartOptions, type TestCluster } from './cluster.ts'
import { diagnose } from './diagnosis.ts'
import { stopWriters } from './writer.ts'

/** A cluster that is up while a test runs. */
export interface SharedCluster {
  readonly current: TestCluster
}

/**
 * One cluster for all tests of a file, started before the first and taken down after the last, which fails when
 * anything of it is left. After a failed test the cluster is described. Options that are not known before other
 * `beforeAll`s ran are given by a function.
 */
export function withCluster(options: StartOptions | (() => StartOptions) = {}): SharedCluster {
  let cluster: TestCluster | undefined
  beforeAll(async () => {
    cluster = await startCluster(typeof options === 'function' ? options() : options)
  }, 150_000)
  afterEach(async ({ task }) => {
    if (cluster !== undefined && task.result?.state === 'fail')
      console.error([`── ${task.name}`, ...(await diagnose(cluster))].join('\n'))
    await stopWriters()
  })
  afterAll(async () => {
    await cluster?.down()
  }, 60_000)
  return {
    get current() {
      if (cluster === undefined) throw new Error('the cluster is not up')
      return cluster
    },
  }
}
