import { expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { KubeApiError } from '#controller-runtime/client/kube-api-error.ts'
import { ScriptedClient } from '#controller-runtime/testing-kube-client.ts'
import { leases } from '#controller-runtime/objects/lease.ts'
import { noting } from './lease-trouble.ts'

it.each<[string, Error, readonly string[]]>([
  ['nobody answers', new RegentError('REGENT_KUBE_UNREACHABLE', say`no answer`), ['no answer']],
  ['etcd has no leader', new KubeApiError(say`etcdserver: no leader`, { status: 500 }), ['etcdserver: no leader']],
  ['a right is missing', new KubeApiError(say`forbidden`, { status: 403 }), ['forbidden']],
  ['another manager was faster', new KubeApiError(say`changed`, { status: 409 }), []],
  ['the wait was given up', new RegentError('REGENT_NOT_LEADER', say`it was lost`), []],
])('Where %s a manager without its lease says so, or nothing', async (_, error, says) => {
  const said: string[] = []
  const client = new ScriptedClient()
  client.before = () => {
    throw error
  }
  const asked = noting(client, (trouble) => said.push(trouble)).get(leases, { namespace: 'regent', name: 'manager' })
  await expect(asked).rejects.toBe(error)
  expect(said).toEqual(says)
})
