import { describe, expect, test } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { shopRecovery } from '#manager/api/testing.ts'
import type { Hands } from './trees/hands.ts'
import { knownShop, orchestratorOver, watchedShop } from './testing.ts'
import { pathsOf, routes } from './routes/table.ts'

/** What nobody means, as it stands in a path. */
const hostile: readonly string[] = [
  '',
  '%00',
  '%0A',
  '%20',
  '..%2F..%2Fetc%2Fpasswd',
  '%2e%2e',
  '%ff%fe',
  '%',
  '%zz',
  "'%20OR%201=1%20--%20",
  '%3Cscript%3Ealert(1)%3C/script%3E',
  '%22%5C',
  '$(reboot)',
  '%60reboot%60',
  '__proto__',
  'constructor',
  'toString',
  '-1',
  '0',
  '65536',
  '99999999999999999999',
  '1e3',
  'NaN',
  'null',
  '%F0%9F%92%A3',
  '%E2%80%AE',
  'a'.repeat(900),
  'a'.repeat(5_000),
  'shop-1%0Ashop-2',
  'shop-1;shop-2',
  ':3306',
  '*',
  '[::1]',
]

const parts = (path: string) => path.split('/').filter((part) => part.startsWith(':'))

/** Some of the hostile texts in the place of each parameter, other ones for each route; the rest as it should be. */
function urlsOf(path: string, at: number): readonly string[] {
  const good = (part: string) => (/port$/i.test(part) ? '3306' : 'shop-1')
  const filled = (bad: string | undefined, text: string) =>
    path
      .split('/')
      .map((part) => (part === bad ? text : part.startsWith(':') ? good(part) : part))
      .join('/')
  const some = (first: number) =>
    Array.from({ length: 4 }, (_, step) => hostile[(first + 7 * step) % hostile.length] ?? '')
  return parts(path).flatMap((bad, nth) => some(5 * at + 11 * nth).map((text) => filled(bad, text)))
}

/** Routes that read what stands in the query, each with every hostile text. */
const queries = [
  'tag/shop-1/3306?tag=',
  'untag-all?tag=',
  'tagged?tag=',
  'tag-value/shop-1/3306?tag=',
  'set-cluster-alias/shop?alias=',
  'ack-all-recoveries?comment=',
  'search?s=',
  'submit-pool-instances/web?instances=',
  'relocate-replicas/shop-0/3306/shop-1/3306?pattern=',
]

/** What a route may ask for, by its first word: an operation of the table, or something at servers that are watched. */
const mayAsk: readonly (readonly [route: RegExp, wants: readonly string[]])[] = [
  [/^begin-downtime/, ['downtime']],
  [/^end-downtime/, ['end-downtime']],
  [
    /^(graceful-master-takeover|force-master-|(take|enslave)-master)/,
    ['switchover', 'failover', 'steps', 'end-downtime'],
  ],
  [/^recover/, ['failover', 'steps']],
  [/^disable-global-recoveries/, ['pause']],
  [/^enable-global-recoveries/, ['resume']],
  [/^(async-)?discover/, ['discover']],
  [/^(start|stop|restart|reset|detach|reattach)-/, ['steps']],
  [/^(enable|disable)-semi-sync|^set-(read-only|writeable)|^flush-|^gtid-errant/, ['steps']],
  [/^(relocate|move|match|repoint|make-co-master|take-|enslave-)/, ['steps']],
]

describe.each([
  ['manages', knownShop, false],
  ['only watches', watchedShop, true],
] as const)('Whatever stands in a parameter, where Regent %s', (_, known, isWatched) => {
  test('every route answers in JSON, says no in the envelope, and asks for nothing but its own', async () => {
    const hand: string[] = []
    const hands: Hands = {
      lookNow: async () => undefined,
      begin: () => ({
        id: shopRecovery.id,
        carryOut: async () => {
          hand.push('steps')
          return []
        },
        tell: () => undefined,
        end: () => undefined,
      }),
      carryOut: async () => void hand.push('steps'),
      async discover() {
        hand.push('discover')
        throw new RegentError('REGENT_REFUSED', say`nobody answers "there"`)
      },
    }
    const { app, asked, logged } = await orchestratorOver([known()], {
      recoveries: [shopRecovery],
      ...(isWatched && { hands }),
    })
    let count = 0
    const inPaths = routes.flatMap(pathsOf).flatMap(urlsOf)
    const inQueries = queries.flatMap((query) => hostile.map((text) => `${query}${text}`))
    for (const url of [...inPaths, ...inQueries]) {
      const { statusCode, body } = await app.inject({ method: 'GET', url: `/api/${url}` })
      const wanted = [...asked.splice(0).map(({ operation }) => operation), ...hand.splice(0)]
      count++
      const [, own = []] = mayAsk.find(([route]) => route.test(url)) ?? []
      expect([url, wanted.filter((one) => !own.includes(one))]).toEqual([url, []])
      if (statusCode === 200) continue
      // Only these are refused after they were asked for: a failover without a proof, and a server that nobody finds.
      expect([url, wanted.filter((one) => one !== 'failover' && one !== 'discover')]).toEqual([url, []])
      const answer = JSON.parse(body) as { Code?: string; Message?: string }
      expect([url, answer.Code, typeof answer.Message]).toEqual([url, 'ERROR', 'string'])
      expect(answer.Message).not.toMatch(/["\\\n]/)
      expect(answer.Message?.length).toBeLessThan(700)
    }
    expect(count).toBeGreaterThan(2_000)
    expect(logged.filter((line) => line.includes('failed unexpectedly'))).toEqual([])
  })
})
