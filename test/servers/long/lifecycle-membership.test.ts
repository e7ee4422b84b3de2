import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { defaultMode } from '#failover/protocol/mode-name.ts'
import { LifecycleService } from '#test/support/lifecycle-service.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'

const nothingLost = { lost: [], duplicated: [], differing: [] }
const timeoutSeconds = 60

describe.each([defaultMode, 'group'] as const)('In mode %s, through lifecycle actions alone,', (mode) => {
  const shop = withCluster({ spec: { mode } })
  let lifecycle: LifecycleService | undefined

  beforeAll(async () => {
    await shop.current.whole(3, 120_000)
    lifecycle = await LifecycleService.begin(shop.current)
  }, 240_000)
  afterEach(stopWriters)
  afterAll(() => lifecycle?.end())

  function service(): LifecycleService {
    if (lifecycle === undefined) throw new Error('no agent serves lifecycle actions')
    return lifecycle
  }

  async function instances() {
    const primary = await shop.current.primary()
    const [first = '', second = ''] = await shop.current.replicas()
    return { primary, first, second }
  }

  it('a primary is switched over, asked of whichever agent, and once is enough', async () => {
    const cluster = shop.current
    const { primary, first, second } = await instances()
    const writer = await Writer.start(cluster)
    await writer.next()
    const parameters = { KB_SWITCHOVER_CURRENT_NAME: primary, KB_SWITCHOVER_CANDIDATE_NAME: first }
    expect(await service().output(second, { action: 'switchover', parameters, timeoutSeconds })).toContain(first)
    expect(await cluster.primary()).toBe(first)
    expect(await service().output(primary, { action: 'switchover', parameters, timeoutSeconds })).toBe(
      `${first} is the primary already`,
    )
    const unknown = { KB_SWITCHOVER_CURRENT_NAME: first, KB_SWITCHOVER_CANDIDATE_NAME: 'shop-7' }
    expect(await service().call(first, { action: 'switchover', parameters: unknown })).toMatchObject({
      error: 'preconditionFailed',
      message: expect.stringContaining('there is no instance shop-7') as string,
    })
    await cluster.whole()
    await writer.stop()
    expect(await writer.check()).toMatchObject(nothingLost)
  }, 180_000)

  it('the primary leaves: it hands over, is out, stays out, and comes back', async () => {
    const cluster = shop.current
    const { primary, first } = await instances()
    const writer = await Writer.start(cluster)
    await writer.next()
    const leave = { action: 'memberLeave', parameters: { KB_LEAVE_MEMBER_POD_NAME: primary }, timeoutSeconds }
    expect(await service().output(first, leave)).toBe(`${primary}: it has left, and its mysqld is stopped`)
    expect(await cluster.primary()).not.toBe(primary)
    const view = await cluster.waitFor(`${primary} is out`, ({ instances: all }) =>
      all.some(({ name, process }) => name === primary && process === 'dead'),
    )
    expect(view.instances.find(({ name }) => name === primary)).toMatchObject({ inSyncSet: false })
    expect((await service().roles())[primary]).toBe('')
    // Again: nothing is left to do.
    expect(await service().output(primary, leave)).toContain('it has left')
    await writer.next()
    const join = { action: 'memberJoin', parameters: { KB_JOIN_MEMBER_POD_NAME: primary }, timeoutSeconds }
    expect(await service().output(first, join)).toBe(`${primary}: it is a member that counts`)
    await cluster.whole()
    await writer.stop()
    expect(await writer.check()).toMatchObject(nothingLost)
  }, 240_000)

  it('a primary is closed as the primary that stays, and opened again; a replica takes no writes anyway', async () => {
    const cluster = shop.current
    const { primary, first } = await instances()
    expect(await service().output(first, { action: 'readonly' })).toBe('')
    expect(await service().call(first, { action: 'readwrite' })).toMatchObject({ error: 'preconditionFailed' })
    await service().output(primary, { action: 'readonly' })
    await cluster.until(`${primary} is closed`, async () => (await service().roles())[primary] === '')
    expect(await cluster.primary()).toBe(primary)
    await service().output(primary, { action: 'readonly' })
    await service().output(primary, { action: 'readwrite' })
    await cluster.until(`${primary} is open`, async () => (await service().roles())[primary] === 'primary')
    await service().output(primary, { action: 'readwrite' })
    await cluster.whole()
  }, 120_000)

  it('a cluster that is whole has been provisioned, and has nothing to terminate', async () => {
    const { primary, first } = await instances()
    for (const name of [primary, first]) {
      expect(await service().output(name, { action: 'postProvision' })).toBe('')
      expect(await service().output(name, { action: 'preTerminate' })).toContain('nothing is registered')
    }
  })
})
