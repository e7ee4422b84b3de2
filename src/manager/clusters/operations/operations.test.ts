import { describe, expect, it } from 'vitest'
import type { RegentError } from '#common/errors/errors.ts'
import { deadServer, lostAgent, shop0, shop1, shop2, type SituationOverrides } from '#failover/testing.ts'
import { gtids, type ViewOverrides } from '#topology/testing.ts'

import type { EndedRecovery } from '#manager/loop/books/recovery-book.ts'
import { operationsOn } from './testing-operations.ts'
const lost: SituationOverrides = { views: { 'shop-2': lostAgent }, record: { syncSet: [shop1] } }
const request = { instance: 'shop-2', acceptLoss: false, dryRun: false }

describe('a replacement', () => {
  it('of a lost instance waits for nobody, and says what happens', async () => {
    const { operations, replaced } = operationsOn(lost)
    expect(await operations.perform('replace', request)).toMatchObject({
      done: true,
      sentence: 'shop-2 is given up with its volume',
      plan: expect.any(Array) as string[],
    })
    expect(replaced).toEqual([['shop-2', true]])
  })

  it('lets the pod of one that answers end in order', async () => {
    const { operations, replaced } = operationsOn({})
    await operations.perform('replace', request)
    expect(replaced).toEqual([['shop-2', false]])
  })

  it('of a second instance is refused while the first is on its way out, in a dry run too', async () => {
    const { operations, replaced } = operationsOn({})
    await operations.perform('replace', request)
    for (const dryRun of [true, false])
      await expect(
        operations.perform('replace', { instance: 'shop-1', acceptLoss: false, dryRun }),
      ).rejects.toMatchObject({
        code: 'REGENT_REFUSED',
        message: expect.stringContaining('on shop-0 alone') as string,
      })
    expect(replaced).toEqual([['shop-2', false]])
  })

  it('that the platform could not begin takes nothing from the others', async () => {
    const failing = async () => Promise.reject(new Error('the API server does not answer'))
    const { operations } = operationsOn({}, failing)
    await expect(operations.perform('replace', request)).rejects.toThrow('does not answer')
    expect(await operations.perform('replace', { instance: 'shop-1', acceptLoss: false, dryRun: true })).toMatchObject({
      dryRun: true,
    })
  })

  it('changes nothing in a dry run', async () => {
    const { operations, replaced } = operationsOn(lost)
    expect(await operations.perform('replace', { ...request, dryRun: true })).toMatchObject({
      done: false,
      dryRun: true,
      sentence: 'would give up shop-2 with its volume',
    })
    expect(replaced).toEqual([])
  })

  it('that could lose an acknowledged write is refused; forced, the loss is named', async () => {
    const { operations, replaced } = operationsOn({ record: { syncSet: [shop2] } })
    await expect(operations.perform('replace', request)).rejects.toMatchObject({
      code: 'REGENT_REFUSED',
      message: expect.stringContaining('on shop-0 alone') as string,
    })
    expect(replaced).toEqual([])
    expect(await operations.perform('replace', { ...request, acceptLoss: true })).toMatchObject({
      done: true,
      sentence: expect.stringContaining('accepted: acknowledged writes would be on shop-0 alone') as string,
    })
    expect(replaced).toHaveLength(1)
  })

  it('of nobody is refused with who there is', async () => {
    await expect(
      operationsOn({}).operations.perform('replace', { ...request, instance: 'shop-9' }),
    ).rejects.toMatchObject({
      code: 'REGENT_NOT_FOUND',
      message: expect.stringContaining('shop-0, shop-1, shop-2') as string,
    })
  })

  it('is refused where no volume can be made anew', async () => {
    await expect(operationsOn(lost, false).operations.perform('replace', request)).rejects.toMatchObject({
      code: 'REGENT_REFUSED',
      message: expect.stringContaining('nothing where shop runs can make a volume anew') as string,
    })
  })
})

describe('a failover to an instance that cannot lead', () => {
  const dead: SituationOverrides = { views: { 'shop-0': deadServer } }
  const views = (shop1Is: ViewOverrides): SituationOverrides => ({ views: { 'shop-0': deadServer, 'shop-1': shop1Is } })
  const cases: Readonly<
    Record<string, readonly [given: SituationOverrides, to: string, says: string, acceptLoss?: true]>
  > = {
    'the dead primary itself': [
      dead,
      'shop-0',
      'shop-0 is the primary that is to be replaced; name another instance, or none',
    ],
    'the dead primary itself, by force': [dead, 'shop-0', 'shop-0 is the primary that is to be replaced', true],
    'one whose agent is silent': [views(lostAgent), 'shop-1', 'the agent of shop-1 is not heard'],
    'one whose mysqld is dead': [views(deadServer), 'shop-1', 'the mysqld of shop-1 is dead'],
    'one whose mysqld is dead, by force': [views(deadServer), 'shop-1', 'the mysqld of shop-1 is dead', true],
    'one that does not answer': [
      views({ silentMs: 1_500 }),
      'shop-1',
      'the mysqld of shop-1 has not answered for 1500 ms',
    ],
    'one that is being seeded': [
      views({ stored: { seeding: true } }),
      'shop-1',
      'shop-1 is being seeded and holds nothing yet',
    ],
    'one that does not count': [
      { ...dead, record: { syncSet: [shop2] } },
      'shop-1',
      'shop-1 is not in the sync set, and may lack what was acknowledged',
    ],
    'one that does not count, by force although others can prove it': [
      { ...dead, record: { syncSet: [shop2] } },
      'shop-1',
      'without it nothing has to be given up',
      true,
    ],
    'one that may have forgotten': [
      views({ stored: { forgetful: true } }),
      'shop-1',
      'shop-1 may not lead: it may have forgotten what it received',
    ],
    'one that may have forgotten, by force': [
      views({ stored: { forgetful: true } }),
      'shop-1',
      'shop-1 may not lead: it may have forgotten what it received',
      true,
    ],
    'one whose policy is never': [
      { ...dead, spec: { policies: { 'shop-1': { promotion: 'never', priority: 0 } } } },
      'shop-1',
      'shop-1 may not lead: its policy is never',
    ],
    'one that is fenced': [
      { ...dead, notes: { fenced: [{ instance: 'shop-1', keepPrimary: false, wallMs: 0 }] } },
      'shop-1',
      'shop-1 may not lead: it is fenced',
    ],
    'an old copy where others are': [
      { ...views({ stored: { fromThePast: true } }), record: { syncSet: [] } },
      'shop-1',
      'the copy of shop-1 is old, and others are there',
      true,
    ],
  }
  it.each(Object.entries(cases))(
    '%s, is refused at once, also as a dry run and while paused',
    async (_, [given, to, says, acceptLoss = false]) => {
      for (const paused of [null, { reason: 'maintenance', wallMs: 0 }]) {
        for (const dryRun of [true, false]) {
          const { operations } = operationsOn({ ...given, notes: { ...given.notes, paused } })
          await expect(operations.perform('failover', { to, acceptLoss, dryRun })).rejects.toMatchObject({
            code: 'REGENT_REFUSED',
            message: expect.stringContaining(says) as string,
          })
        }
      }
    },
  )

  it('is taken where it can: one that counts, any that runs once a loss is accepted, an old copy where nothing else is left', async () => {
    const alone: SituationOverrides = {
      views: { 'shop-0': lostAgent, 'shop-1': lostAgent, 'shop-2': {} },
      record: { syncSet: [shop1] },
      nowMs: 60_000,
    }
    const old: SituationOverrides = { ...alone, views: { ...alone.views, 'shop-2': { stored: { fromThePast: true } } } }
    for (const [given, to, acceptLoss] of [
      [dead, 'shop-1', false],
      [alone, 'shop-2', true],
      [old, 'shop-2', true],
    ] as const) {
      expect(await operationsOn(given).operations.perform('failover', { to, acceptLoss, dryRun: true })).toMatchObject({
        dryRun: true,
        plan: expect.arrayContaining([`${to} is committed as primary`]) as string[],
      })
    }
  })
})

describe('a failover of a primary that does not take writes yet', () => {
  const applying: SituationOverrides = {
    record: { elected: gtids('shop-0', 103) },
    views: {
      'shop-0': {
        openingMs: 500,
        server: { readOnly: true, superReadOnly: true, offlineMode: true, received: gtids('shop-0', 103) },
      },
    },
  }
  it('is planned as any other, also to an instance, and by force', async () => {
    for (const to of [undefined, 'shop-1']) {
      for (const acceptLoss of [false, true]) {
        const answer = await operationsOn(applying).operations.perform('failover', { to, acceptLoss, dryRun: true })
        expect(answer.sentence).toBe(
          `would fail over: shop-0 is elected and applies 3 transactions before it takes writes, for 0 s${acceptLoss ? '; writes that only nobody hold would be given up' : ''}`,
        )
      }
    }
  })

  it('names the primary among those whose writes are given up where its epoch cannot be revoked without it', async () => {
    const answer = await operationsOn({ ...applying, record: { ...applying.record, syncSet: [] } }).operations.perform(
      'failover',
      { to: 'shop-1', acceptLoss: true, dryRun: true },
    )
    expect(answer.sentence).toContain('writes that only shop-0 hold would be given up')
  })

  it('is needed no sooner than it opens slowly, says a refused switchover', async () => {
    await expect(
      operationsOn(applying).operations.perform('switchover', {
        to: undefined,
        timeoutMs: undefined,
        reason: '',
        dryRun: true,
      }),
    ).rejects.toMatchObject({
      code: 'REGENT_REFUSED',
      message: expect.stringContaining('; no command is needed: ') as string,
    })
  })
})

describe('a change of size', () => {
  it('to one instance says that protection ends, and to no other number', async () => {
    const { operations } = operationsOn({})
    const planned = (instances: number) =>
      operations.perform('scale', { instances, dryRun: true }).then(({ plan }) => plan?.join('\n'))
    expect(await planned(1)).toContain('protection ends: one instance has nobody to fail over to')
    for (const instances of [2, 3, 5]) expect(await planned(instances)).not.toContain('protection ends')
  })
})

describe('what is refused', () => {
  it('is told to others than who asked, unless that was only a question', async () => {
    const { operations, declined } = operationsOn({ record: { syncSet: [shop2] } })
    const refused = { code: 'REGENT_REFUSED' }
    for (const dryRun of [true, false]) {
      await expect(operations.perform('replace', { ...request, dryRun })).rejects.toMatchObject(refused)
      await expect(operations.perform('failover', { to: undefined, acceptLoss: false, dryRun })).rejects.toMatchObject(
        refused,
      )
      await expect(operations.perform('scale', { instances: 0, dryRun })).rejects.toMatchObject(refused)
      await expect(
        operations.perform('switchover', { to: 'shop-0', timeoutMs: undefined, reason: '', dryRun }),
      ).rejects.toMatchObject(refused)
      expect(declined.map((sentence) => /^no \w+/.exec(sentence)?.[0])).toEqual(
        dryRun ? [] : ['no replacement', 'no failover', 'no scaling', 'no switchover'],
      )
    }
  })
})

describe('a failover to an instance whose volume went back in time', () => {
  const wentBack: SituationOverrides = {
    views: { 'shop-0': { past: shop0, member: 'shop-0@volume~c' }, 'shop-1': lostAgent },
    notes: { incarnations: { [shop0]: ['b', 'a'], [shop1]: ['x'] } },
  }
  const failover = { to: 'shop-0', acceptLoss: true, dryRun: false }

  it('takes its volume as it is, where a person accepts what it may have forgotten, and touches nobody else’s', async () => {
    const { operations, notes } = operationsOn(wentBack)
    expect(await operations.perform('failover', { ...failover, dryRun: true })).toMatchObject({
      done: false,
      dryRun: true,
      sentence: expect.stringContaining('the volume of shop-0 is taken as it is') as string,
    })
    expect(notes().incarnations).toHaveProperty([shop0])
    expect(await operations.perform('failover', failover)).toMatchObject({
      done: true,
      sentence: expect.stringContaining('what it may have forgotten since it was copied is given up') as string,
    })
    expect(notes().incarnations).toEqual({ [shop1]: ['x'] })
  })

  it('is refused without that', async () => {
    const { operations, notes } = operationsOn(wentBack)
    await expect(operations.perform('failover', { ...failover, acceptLoss: false })).rejects.toMatchObject({
      code: 'REGENT_REFUSED',
      message: expect.stringContaining('Only --accept-loss takes it as it is') as string,
    })
    expect(notes().incarnations).toHaveProperty([shop0])
  })
})

describe('a failover of a cluster without a record', () => {
  const silent: SituationOverrides = { views: { 'shop-2': lostAgent } }
  const force = { to: 'shop-1', acceptLoss: true, dryRun: true }

  it('with its loss accepted names, in a dry run, what is given up, and asks nobody', async () => {
    const { operations, asked } = operationsOn(silent, true, false)
    expect(await operations.perform('failover', force)).toMatchObject({
      done: false,
      dryRun: true,
      sentence: 'would make a record in which shop-1 leads; given up: what shop-2 alone holds (silent)',
    })
    expect(asked).toEqual([])
  })

  it('is what the cluster is asked for otherwise', async () => {
    const { operations, asked } = operationsOn(silent, true, false)
    await expect(operations.perform('failover', { ...force, dryRun: false })).rejects.toMatchObject({
      code: 'REGENT_TIMED_OUT',
    })
    expect(asked).toMatchObject([{ kind: 'failover', to: 'shop-1', acceptLoss: true }])
  })

  it.each([
    [{ ...force, to: undefined }, 'choose who leads with --to, one of shop-0, shop-1, shop-2'],
    [{ ...force, to: 'shop-2' }, 'shop-2 cannot lead: its agent is silent'],
    [{ ...force, acceptLoss: false }, 'has no primary yet'],
  ])('%j is refused', async (request, why) => {
    await expect(operationsOn(silent, true, false).operations.perform('failover', request)).rejects.toMatchObject({
      code: 'REGENT_REFUSED',
      message: expect.stringContaining(why) as string,
    })
  })
})

describe('a switchover from the one that is expected to be the primary', () => {
  const asking = { timeoutMs: undefined, dryRun: true, reason: '' }
  const tookOver = (agoMs: number) =>
    ({
      notes: {
        recoveries: [
          {
            kind: 'switchover',
            outcome: 'succeeded',
            from: shop1,
            to: shop0,
            startedWallMs: 1_000_000 - 60 - agoMs,
            timeline: [{ atMs: 60, what: 'ended: succeeded' }],
          },
        ],
      },
    }) as unknown as SituationOverrides

  it('is refused where another one leads by now', async () => {
    const { operations } = operationsOn({})
    expect(await operations.perform('switchover', { ...asking, from: 'shop-0', to: undefined })).toMatchObject({
      dryRun: true,
    })
    await expect(operations.perform('switchover', { ...asking, from: 'shop-1', to: 'shop-2' })).rejects.toMatchObject({
      code: 'REGENT_REFUSED',
      message: 'no switchover: shop-0 is the primary, and not shop-1',
    })
  })

  it('is not needed, but for who asks for just any within a second: of two at once the second would undo the first', async () => {
    const just = operationsOn(tookOver(300)).operations
    await expect(just.perform('switchover', { ...asking, to: undefined })).rejects.toMatchObject({
      message: expect.stringMatching(
        /^no switchover: shop-0 took over 300 ms ago, .*: regent switchover --from shop-0$/,
      ) as string,
    })
    for (const named of [{ from: 'shop-0', to: undefined }, { to: 'shop-1' }])
      expect(await just.perform('switchover', { ...asking, ...named })).toMatchObject({ dryRun: true })
    const later = operationsOn(tookOver(1_000)).operations
    expect(await later.perform('switchover', { ...asking, to: undefined })).toMatchObject({ dryRun: true })
  })

  it('ends at once where the primary changes meanwhile for another reason, and is not done at the next primary', async () => {
    const failover = { id: 'f', kind: 'failover', outcome: 'succeeded', sentence: 'shop-0 is dead', requests: [] }
    const ended = async (matches: (one: EndedRecovery) => boolean) =>
      [{ ...failover, from: shop0, to: shop1 } as unknown as EndedRecovery].find(matches)
    const { operations, asked } = operationsOn({}, true, true, ended)
    await expect(operations.perform('switchover', { ...asking, dryRun: false, to: undefined })).rejects.toMatchObject({
      message: 'no switchover: another failover came first: shop-0 is dead',
    })
    expect(asked).toMatchObject([{ kind: 'switchover', from: 'shop-0' }])
  })
})

describe('two who ask at once', () => {
  const switchover = { to: undefined, timeoutMs: undefined, dryRun: false, reason: '' }
  const recovery = (id: string, more: Partial<EndedRecovery> = {}): EndedRecovery =>
    ({ id, kind: 'switchover', outcome: 'succeeded', sentence: id, ...more }) as EndedRecovery

  it('hear each how their own switchover ends, and none how another one ends', async () => {
    const ended = async (matches: (one: EndedRecovery) => boolean, request: string) =>
      [recovery('a drain', { requests: ['end-of-shop-0-1'] }), recovery('asked', { requests: [request] })].find(matches)
    const { operations } = operationsOn({}, true, true, ended)
    expect(await operations.perform('switchover', switchover)).toMatchObject({ done: true, recovery: 'asked' })
  })

  it('hear how the failover ends, and not how the restart ends that it takes the place of', async () => {
    const restart = recovery('restart', { kind: 'restart', outcome: 'abandoned', requests: [] })
    const ended = async (matches: (one: EndedRecovery) => boolean, request: string) =>
      [restart, recovery('asked', { kind: 'failover', requests: [request] })].find(matches)
    const { operations } = operationsOn({ views: { 'shop-0': deadServer } }, true, true, ended)
    const asked = operations.perform('failover', { to: undefined, acceptLoss: false, dryRun: false })
    expect(await asked).toMatchObject({ done: true, recovery: 'asked' })
  })

  it.each([
    [true, 'REGENT_TIMED_OUT'],
    [false, 'REGENT_REFUSED'],
  ])('hear whether time ran out (%j), whatever the sentence says', async (timedOut, code) => {
    const undone = recovery('asked', { outcome: 'undone', sentence: 'the deadline of 5 s', timedOut })
    const { operations } = operationsOn({}, true, true, async () => undone)
    await expect(operations.perform('switchover', switchover)).rejects.toMatchObject({ code })
  })

  it.each([
    [true, ''],
    [false, 'Ask again once'],
  ])(
    'hear of one remedy: the command in the sentence (%j), or else the one of the catalogue',
    async (names, remedy) => {
      const undone = recovery('asked', { outcome: 'undone', sentence: '"regent replace" ends it', namesCommand: names })
      const { operations } = operationsOn({}, true, true, async () => undone)
      const refused = await operations.perform('switchover', switchover).catch((error: unknown) => error)
      expect((refused as RegentError).remedyIn('local').slice(0, 14)).toBe(remedy)
    },
  )

  it.each(['switchover', 'failover'] as const)('for a %s: the second is refused, and a dry run too', async (kind) => {
    let answer: (recovery: EndedRecovery) => void = () => undefined
    const ended = () => new Promise<EndedRecovery>((resolve) => (answer = resolve))
    const { operations } = operationsOn(
      kind === 'failover' ? { views: { 'shop-0': deadServer } } : {},
      true,
      true,
      ended,
    )
    const ask = (dryRun: boolean) =>
      kind === 'failover'
        ? operations.perform('failover', { to: undefined, acceptLoss: false, dryRun })
        : operations.perform('switchover', { ...switchover, dryRun })
    const first = ask(false)
    for (const dryRun of [true, false])
      await expect(ask(dryRun)).rejects.toThrow(`no ${kind}: another one was asked for and has not ended`)
    answer(recovery('asked'))
    expect(await first).toMatchObject({ done: true })
    expect(await ask(true)).toMatchObject({ dryRun: true })
  })
})
