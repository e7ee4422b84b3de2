import { describe, expect, it } from 'vitest'
import { kubeBenchOf, kubeBenchUsage, kubeCases } from './kube-arguments.ts'

describe('the words after npm run bench:kube', () => {
  it('are none for all cases, some cases, or clusters, with what is not said as the usage says', () => {
    expect(kubeBenchOf([])).toEqual({
      what: 'cases',
      cases: kubeCases,
      mode: 'semisync',
      runs: 20,
      restless: false,
      router: false,
      json: '.cache/bench-kube.json',
    })
    expect(kubeBenchOf(['kill', '--runs', '3', 'create', '--mode', 'group', '--restless'])).toMatchObject({
      cases: ['kill', 'create'],
      mode: 'group',
      runs: 3,
      restless: true,
    })
    expect(kubeBenchOf(['clusters', '--counts', '1,10', '--json', 'a.json'])).toEqual({
      what: 'clusters',
      counts: [1, 10],
      runs: 20,
      json: 'a.json',
    })
  })

  it.each([[['--help']], [['-h']], [['clusters', '--help']], [['kill', '--help']]])(
    'ask for the usage with %s',
    (words) => {
      expect(kubeBenchOf(words)).toEqual({ what: 'usage' })
    },
  )

  it.each<[readonly string[], RegExp]>([
    [['--rnus', '3'], /Unknown option '--rnus'/],
    [['killl'], /^"killl" is no benchmark/],
    [['kill', 'clusters'], /^"clusters" is no benchmark/],
    [['kill', '--runs', 'many'], /^--runs: "many" is no such number\. Allowed is an integer from 1 to 1000\./],
    [['kill', '--mode', 'galera'], /^--mode: "galera" is no mode\. Allowed is semisync, async, group\./],
    [['kill', '--runs', '0'], /^--runs: "0"/],
    [['kill', '--counts', '3'], /Unknown option '--counts'/],
    [['clusters', 'kill'], /Unexpected argument 'kill'/],
    [['clusters', '--restless'], /Unknown option '--restless'/],
    [['clusters', '--counts', '1,,3'], /^--counts: "" is no such number/],
    [['clusters', '--counts', '2000'], /^--counts: "2000"/],
  ])('are refused with the usage for %j', (words, why) => {
    expect(() => kubeBenchOf(words)).toThrow(why)
    expect(() => kubeBenchOf(words)).toThrow(kubeBenchUsage)
  })
})
