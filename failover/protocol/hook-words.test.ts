import { expect, it } from 'vitest'
import type { HookDocument } from './hook-document.ts'
import { filledIn, harmless, placeholderNames, strangerIn, variablesOf } from './hook-words.ts'

const told: HookDocument = {
  ...{ version: 1, test: false, moment: 'afterFailover', key: 'r.afterFailover.0', text: 'text', cluster: 'shop' },
  ...{ mode: 'semisync', automatic: true, successorGtids: 'uuid:1-5', manager: 'here' },
  recovery: {
    ...{ id: 'r', kind: 'failover', outcome: 'succeeded', fromEpoch: 1, toEpoch: 2, analysis: 'a' },
    ...{ sentence: `it's "so"; $(rm -rf /) \`x\``, startedAt: 'now', failureType: 'UnreachablePrimary' },
  },
  failed: { instance: 'shop-0', host: '10.0.0.1', port: 3306 },
  successor: { instance: 'shop-1', host: '10.0.0.2', port: 3307 },
  replicas: [{ instance: 'shop-2', host: '10.0.0.3', port: 3306 }],
  lostReplicas: [],
}

it('Orchestrator’s placeholders are filled in by what they mean there', () => {
  const line =
    '{failureType} {failedHost}:{failedPort} {successorHost}:{successorPort} {successorAlias} {failureClusterAlias} {countReplicas} {replicaHosts} {lostReplicas}| {isSuccessful} {recoveryUID}'
  expect(filledIn(line, told)).toBe(
    'UnreachableMaster 10.0.0.1:3306 10.0.0.2:3307 shop-1 shop 1 10.0.0.3:3306 | true r',
  )
})

it('An address of IPv6 stands in brackets before its port, and alone where it is a host', () => {
  const on6 = { instance: 'shop-2', host: 'fd00::3', port: 3306 }
  const variables = variablesOf({ ...told, failed: on6, replicas: [on6, { ...on6, host: '10.0.0.3' }] })
  expect(variables).toMatchObject({
    REGENT_FAILED_HOST: 'fd00::3',
    REGENT_REPLICAS: '[fd00::3]:3306,10.0.0.3:3306',
    ORC_FAILURE_CLUSTER: '[fd00::3]:3306',
    ORC_REPLICA_HOSTS: '[fd00::3]:3306,10.0.0.3:3306',
  })
})

it('Variables of a shell are left alone, and what is no placeholder is found', () => {
  expect(filledIn('${failedHost} {a b} {}', told)).toBe('${failedHost} {a b} {}')
  expect(strangerIn('a {failedHost} ${unknown}')).toBeUndefined()
  expect(strangerIn('a {unknown}')?.found).toBe('{unknown}')
})

it('Words of others do nothing in a line of a shell', () => {
  const line = filledIn('echo {failureDescription}', told, harmless)
  expect(line).toBe('echo its so rm -rf / x')
})

it('Each placeholder of orchestrator has its variable, with the whole word', () => {
  const variables = variablesOf(told)
  expect(variables).toMatchObject({
    ORC_FAILURE_TYPE: 'UnreachableMaster',
    ORC_FAILED_HOST: '10.0.0.1',
    ORC_SUCCESSOR_HOST: '10.0.0.2',
    ORC_FAILURE_CLUSTER_ALIAS: 'shop',
    ORC_COUNT_REPLICAS: '1',
    ORC_AUTO_INTERMEDIATE_MASTER_RECOVERY: 'false',
    ORC_RECOVERY_UID: 'r',
    ORC_IS_CO_MASTER: 'false',
    ORC_SUCCESSOR_BINLOG_COORDINATES: 'uuid:1-5',
    ORC_FAILURE_DESCRIPTION: told.recovery.sentence,
    REGENT_SUCCESSOR_INSTANCE: 'shop-1',
    REGENT_TEST: 'false',
  })
  expect(Object.keys(variables).filter((name) => name.startsWith('ORC_'))).toHaveLength(placeholderNames.length)
})
