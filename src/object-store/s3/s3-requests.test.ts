import type { S3Client } from '@aws-sdk/client-s3'
import { expect, it } from 'vitest'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { S3Requests } from './s3-requests.ts'

const named = (name: string) => Object.assign(new Error(name), { name })

/** Requests to a store that takes the credentials of a Secret after `rotatesAt`, and those before until `refusesAt`. */
function aStore(refusesAtMs: number, rotatesAtMs: number, code: string) {
  const world = virtualWorld()
  const client = { config: { credentials: async () => ({ accessKeyId: 'k', secretAccessKey: 's' }) } }
  const requests = new S3Requests({
    ...{ client: client as unknown as S3Client, address: 's3://backups', world, budgetMs: 120_000 },
  })
  const ask = async (): Promise<string> => {
    let ended = false
    const nowMs = () => world.clock.monotonicMs()
    const sent = requests
      .send({ what: 'object a was not stored' }, async () => {
        if (nowMs() >= refusesAtMs && nowMs() < rotatesAtMs) throw named(code)
        return 'stored'
      })
      .catch((error: unknown) => (error as Error).message)
      .finally(() => (ended = true))
    while (!ended) await world.advance(100)
    return sent
  }
  return { ask, requests, world }
}

it.each(['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'ExpiredToken', 'REGENT_BACKUP_STORE', 'NoAnswerOfS3'])(
  'What passes is waited for where the store took the credentials before: they rotate, a page is in its place (%s)',
  async (code) => {
    const { ask, world } = aStore(1_000, 90_000, code)
    expect(await ask()).toBe('stored')
    await world.advance(1_000)
    expect(await ask()).toBe('stored')
  },
)

it('Credentials that the store never took are said at once, and so is what they may not do', async () => {
  const wrong = aStore(0, 90_000, 'InvalidAccessKeyId')
  expect(await wrong.ask()).toMatch(/does not know the access key/)
  expect(wrong.world.clock.monotonicMs()).toBeLessThan(10_000)
  const denied = aStore(1_000, 90_000, 'AccessDenied')
  expect(await denied.ask()).toBe('stored')
  await denied.world.advance(1_000)
  expect(await denied.ask()).toMatch(/do not allow that/)
  expect(denied.world.clock.monotonicMs()).toBeLessThan(10_000)
})

it.each(['NoAnswerOfS3', 'ECONNRESET'])('After %s a request may have done what it was for', async (code) => {
  const { requests, world } = aStore(0, 0, '')
  const codes = [code, 'PreconditionFailed']
  let failure: unknown
  void requests
    .send({ what: 'object a was not stored', expected: ['PreconditionFailed'] }, async () => {
      throw named(codes.shift() ?? '')
    })
    .catch((error: unknown) => (failure = error))
  while (failure === undefined) await world.advance(100)
  expect(failure).toMatchObject({ isAfterLoss: true })
})
