import { expect, test } from 'vitest'
import { knownShop, orchestratorOver } from './testing.ts'
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
]

test('Whatever stands in a parameter, every route answers in JSON, says no in the envelope, and makes nobody primary', async () => {
  const { app, asked, logged } = await orchestratorOver([knownShop()])
  let count = 0
  const inPaths = routes.flatMap(pathsOf).flatMap(urlsOf)
  const inQueries = queries.flatMap((query) => hostile.map((text) => `${query}${text}`))
  for (const url of [...inPaths, ...inQueries]) {
    const { statusCode, body } = await app.inject({ method: 'GET', url: `/api/${url}` })
    const answer = JSON.parse(body) as { Code?: string; Message?: string }
    count++
    if (statusCode === 200) continue
    expect([url, answer.Code, typeof answer.Message]).toEqual([url, 'ERROR', 'string'])
    expect(answer.Message).not.toMatch(/["\\\n]/)
    expect(answer.Message?.length).toBeLessThan(700)
  }
  expect(count).toBeGreaterThan(2_000)
  expect(logged.filter((line) => line.includes('failed unexpectedly'))).toEqual([])
  expect(asked.filter(({ operation }) => operation === 'failover')).toEqual([])
})
