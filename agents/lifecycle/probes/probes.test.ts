import { say } from '#common/sentence/sentence.ts'
import { watch } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Timer, Timers } from '#common/ports/ports.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { refusal, succeeded, type ActionResult } from '../wire/calls.ts'
import type { Probe } from '../wire/definitions.ts'
import { newProbe, observe } from './probe-state.ts'
import { ProbeRunner } from './probe-runner.ts'
import { watchFiles } from './watch-files.ts'

const ok = (text: string): ActionResult => succeeded(Buffer.from(text))
const broken = refusal('failed', say`exit code: 1, stderr: `)

/** `primary`: the output of a success, `!` a failure, and with `*` before it a forced run. */
const resultOf = (word: string): ActionResult => (word === '!' ? broken : ok(word))

/** What is reported of a series of runs: its output, or `!` and the last good output; '' where nothing is. */
function reportsOf(probe: Partial<Probe>, runs: readonly string[]): readonly string[] {
  let state = newProbe
  return runs.map((word) => {
    const observed = observe(
      { instance: 'i', action: 'roleProbe', ...probe },
      state,
      resultOf(word.replace('*', '')),
      word.startsWith('*'),
    )
    state = observed.state
    const { event } = observed
    if (event === undefined) return '-'
    return event.code === 0 ? event.output.toString() : `!${event.output.toString()}`
  })
}

describe('what a probe reports', () => {
  it.each([
    ['the first success and every change, and nothing twice', {}, ['a', 'a', 'b', 'b', 'a'], ['a', '-', 'b', '-', 'a']],
    ['an empty output as any other', {}, ['a', '', '', 'a'], ['a', '', '-', 'a']],
    ['each failure with the last good output', {}, ['!', 'a', '!', '!', 'a'], ['!', 'a', '!a', '!a', 'a']],
    [
      'a failure from its threshold on',
      { failureThreshold: 3 },
      ['a', '!', '!', '!', '!'],
      ['a', '-', '-', '!a', '!a'],
    ],
    ['a failure after a success counts from one', { failureThreshold: 2 }, ['!', 'a', '!', 'a'], ['-', 'a', '-', 'a']],
    [
      'a success at its threshold',
      { successThreshold: 2 },
      ['a', 'b', 'b', 'c', '!', 'c'],
      ['-', 'b', '-', 'c', '!c', '-'],
    ],
    ['a forced run in any case', { failureThreshold: 9 }, ['a', '*a', '*!', '*a', 'a'], ['a', 'a', '!a', 'a', '-']],
    ['thresholds of 0 as 1', { successThreshold: 0, failureThreshold: 0 }, ['a', '!'], ['a', '!a']],
  ])('is %s', (_what, probe, runs, reports) => {
    expect(reportsOf(probe, runs)).toEqual(reports)
  })
})

/** A probe whose runs and reports end when the test says so. */
function aProbe(probe: Partial<Probe> = {}) {
  const world = virtualWorld()
  const runs: ((result: ActionResult) => void)[] = []
  const reports: { readonly said: string; readonly end: (error?: Error) => void }[] = []
  const complaints: string[] = []
  let changed: () => void = () => undefined
  let watched = true
  const runner = new ProbeRunner(
    { instance: 'i', action: 'roleProbe', ...probe },
    {
      world,
      run: () => new Promise((resolve) => runs.push(resolve)),
      report: ({ code, output, message }) =>
        new Promise((resolve, reject) => {
          const said = code === 0 ? output.toString() : message
          reports.push({ said, end: (error) => (error === undefined ? resolve() : reject(error)) })
        }),
      watch: (_paths, listener) => {
        changed = listener
        return () => (watched = false)
      },
      log: (sentence) => void complaints.push(sentence),
    },
  )
  runner.start()
  const end = async (word: string): Promise<void> => {
    runs.at(-1)?.(resultOf(word))
    await world.settle()
  }
  const told = async (error?: Error): Promise<void> => {
    reports.at(-1)?.end(error)
    await world.settle()
  }
  return { world, runs, reports, complaints, end, told, runner, change: () => changed(), isWatched: () => watched }
}

const said = ({ reports }: ReturnType<typeof aProbe>): readonly string[] => reports.map(({ said }) => said)

describe('a probe', () => {
  it('runs at once after its initial delay, then each period, a minute unless given', async () => {
    const { world, runs, end } = aProbe({ initialDelaySeconds: 5 })
    await world.advance(4_999)
    expect(runs).toHaveLength(0)
    await world.advance(1)
    expect(runs).toHaveLength(1)
    await end('a')
    await world.advance(59_999)
    expect(runs).toHaveLength(1)
    await world.advance(1)
    expect(runs).toHaveLength(2)
  })

  it('never runs twice at a time: what falls due meanwhile is dropped', async () => {
    const { world, runs, end } = aProbe({ periodSeconds: 1 })
    await world.advance(3_500)
    expect(runs).toHaveLength(1)
    await end('a')
    expect(runs).toHaveLength(1)
    await world.advance(500)
    expect(runs).toHaveLength(2)
  })

  it('reports one after the other, and of what came meanwhile only the newest', async () => {
    const probe = aProbe({ periodSeconds: 1 })
    await probe.world.advance(0)
    for (const word of ['a', 'b', 'c']) {
      await probe.end(word)
      await probe.world.advance(1_000)
    }
    expect(said(probe)).toEqual(['a'])
    await probe.told()
    expect(said(probe)).toEqual(['a', 'c'])
  })

  it('reports again each report period, which is no shorter than its period', async () => {
    const probe = aProbe({ periodSeconds: 20, reportPeriodSeconds: 5 })
    await probe.world.advance(0)
    await probe.end('a')
    await probe.told()
    await probe.world.advance(19_999)
    expect(said(probe)).toEqual(['a'])
    await probe.world.advance(1)
    expect(said(probe)).toEqual(['a', 'a'])
  })

  it('reports a minute later what could not be told, unless something newer came', async () => {
    const probe = aProbe({ periodSeconds: 1 })
    await probe.world.advance(0)
    await probe.end('a')
    await probe.told(new Error('the API server is away'))
    expect(probe.complaints).toEqual([
      'roleProbe: the Event with code 0 could not be sent, and is sent again in 60 s: the API server is away',
    ])
    await probe.world.advance(59_999)
    expect(said(probe)).toEqual(['a'])
    await probe.world.advance(1)
    expect(said(probe)).toEqual(['a', 'a'])
    await probe.told()
    await probe.world.advance(120_000)
    expect(said(probe)).toEqual(['a', 'a'])
  })

  it('reports the same failure once in 15 s', async () => {
    const probe = aProbe({ periodSeconds: 1 })
    for (let second = 0; second < 31; second += 1) {
      await probe.world.advance(second === 0 ? 0 : 1_000)
      await probe.end('!')
      await probe.told()
    }
    expect(said(probe)).toHaveLength(3)
    await probe.world.advance(1_000)
    await probe.end('a')
    expect(said(probe).at(-1)).toBe('a')
  })

  it('runs and reports at once after a change of a file, after the run that is under way', async () => {
    const probe = aProbe({ periodSeconds: 60, reportOnFileChange: ['/etc/pod'] })
    await probe.world.advance(0)
    probe.change()
    expect(probe.runs).toHaveLength(1)
    await probe.end('a')
    await probe.told()
    expect(probe.runs).toHaveLength(2)
    await probe.end('a')
    expect(said(probe)).toEqual(['a', 'a'])
  })

  it('is silent once it is stopped', async () => {
    const probe = aProbe({ periodSeconds: 1, reportOnFileChange: ['/etc/pod'] })
    await probe.world.advance(0)
    probe.runner.stop()
    await probe.end('a')
    probe.change()
    await probe.world.advance(120_000)
    expect([probe.runs.length, said(probe), probe.isWatched(), probe.world.pending]).toEqual([1, [], false, 0])
  })
})

describe('the watch of files', () => {
  async function aFolder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'lifecycle-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    return folder
  }

  /** All that happened to files so far has been heard: Node hears of them in the order in which they happened. */
  async function allHeard(): Promise<void> {
    const folder = await aFolder()
    const heard = Promise.withResolvers<unknown>()
    const last = watch(folder, heard.resolve)
    await writeFile(join(folder, 'last'), '')
    await heard.promise
    last.close()
  }

  function watching(...paths: readonly string[]) {
    let changes = 0
    let quiet: (() => void) | undefined
    const hold = (task: () => void): Timer => {
      quiet = task
      return { cancel: () => void (quiet === task && (quiet = undefined)) }
    }
    /** However long the machine needs between two steps of a burst, no quiet is in between. */
    const after: Timers['after'] = (ms, task) => (ms < 1_000 ? hold(task) : realWorld.timers.after(ms, task))
    const timers = { ...realWorld.timers, after }
    onTestFinished(watchFiles(paths, { timers, log: () => undefined }, () => (changes += 1)))
    /** How many were told, now that it is quiet. */
    const changesSoFar = async (): Promise<number> => {
      await allHeard()
      quiet?.()
      quiet = undefined
      return changes
    }
    return { changes: changesSoFar }
  }

  it('sees the kubelet replace a mounted folder, as one change', async () => {
    const folder = await aFolder()
    await mkdir(join(folder, '..1'))
    await symlink('..1', join(folder, '..data'))
    const { changes } = watching(folder)
    await mkdir(join(folder, '..2'))
    await writeFile(join(folder, '..2', 'role'), 'primary')
    await symlink('..2', join(folder, '..data_tmp'))
    await rename(join(folder, '..data_tmp'), join(folder, '..data'))
    expect(await changes()).toBe(1)
  })

  it('sees a write into a file, and a file that takes the place of another', async () => {
    const folder = await aFolder()
    const file = join(folder, 'role')
    await writeFile(file, 'a')
    const { changes } = watching(file)
    await writeFile(file, 'b')
    expect(await changes()).toBe(1)
    await writeFile(join(folder, 'new'), 'c')
    await rename(join(folder, 'new'), file)
    expect(await changes()).toBe(2)
    await writeFile(file, 'd')
    expect(await changes()).toBe(3)
  })

  it('sees at once that a file is made that was not there, and what becomes of it then', async () => {
    const file = join(await aFolder(), 'role')
    const { changes } = watching(file)
    await writeFile(file, 'a')
    expect(await changes()).toBe(1)
    await writeFile(file, 'b')
    expect(await changes()).toBe(2)
    await rm(file)
    expect(await changes()).toBe(3)
  })

  it('sees at once that a folder is made that was not there, and what is made in it then', async () => {
    const folder = join(await aFolder(), 'metadata')
    const { changes } = watching(folder)
    await mkdir(folder)
    expect(await changes()).toBe(1)
    await writeFile(join(folder, 'role'), 'a')
    expect(await changes()).toBe(2)
  })

  it('follows a file that is a link, as of a ConfigMap', async () => {
    const folder = await aFolder()
    await mkdir(join(folder, '..1'))
    await writeFile(join(folder, '..1', 'role'), 'a')
    await symlink('..1', join(folder, '..data'))
    await symlink('..data/role', join(folder, 'role'))
    const { changes } = watching(join(folder, 'role'))
    await mkdir(join(folder, '..2'))
    await writeFile(join(folder, '..2', 'role'), 'b')
    await symlink('..2', join(folder, '..data_tmp'))
    await rename(join(folder, '..data_tmp'), join(folder, '..data'))
    await rm(join(folder, '..1'), { recursive: true })
    expect(await changes()).toBe(1)
  })

  it('does not take a write into another file of the same folder for a change of the file', async () => {
    const folder = await aFolder()
    await writeFile(join(folder, 'role'), 'a')
    const { changes } = watching(join(folder, 'role'))
    await writeFile(join(folder, 'other'), 'b')
    expect(await changes()).toBe(0)
  })

  it('does not take a write into a file of a folder for a change of the folder', async () => {
    const folder = await aFolder()
    await writeFile(join(folder, 'role'), 'a')
    const { changes } = watching(folder)
    await writeFile(join(folder, 'role'), 'b')
    expect(await changes()).toBe(0)
  })
})
