import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { expect, it, onTestFinished } from 'vitest'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { clientWith, userOf } from './clients.ts'
import { onApiServer } from './on-api-server.ts'

interface AnyObject extends KubeObject {
  readonly spec?: object
  readonly rules?: readonly object[]
  readonly subjects?: readonly object[]
  readonly roleRef?: object
}

const flowControl = { group: 'flowcontrol.apiserver.k8s.io', version: 'v1', namespaced: false }
const access = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: true }
const priorityLevels: Resource<AnyObject> = {
  ...flowControl,
  kind: 'PriorityLevelConfiguration',
  plural: 'prioritylevelconfigurations',
}
const flowSchemas: Resource<AnyObject> = { ...flowControl, kind: 'FlowSchema', plural: 'flowschemas' }
const roles: Resource<AnyObject> = { ...access, kind: 'Role', plural: 'roles' }
const roleBindings: Resource<AnyObject> = { ...access, kind: 'RoleBinding', plural: 'rolebindings' }

onApiServer('A client that the API server’s own fairness turns away', (api) => {
  /** Somebody who may use ConfigMaps, by one request at a time. Gives the uid of the schema that says so. */
  async function oneAtATime(user: string): Promise<string | undefined> {
    const [flow, rbac] = ['flowcontrol.apiserver.k8s.io/v1', 'rbac.authorization.k8s.io/v1']
    const metadata = { name: user, namespace: api.namespace }
    const subjects = [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }]
    await api.client.create(roles, {
      apiVersion: rbac,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }],
    })
    await api.client.create(roleBindings, {
      apiVersion: rbac,
      kind: 'RoleBinding',
      metadata,
      subjects,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user },
    })
    const limited = {
      nominalConcurrencyShares: 0,
      lendablePercent: 0,
      borrowingLimitPercent: 0,
      limitResponse: { type: 'Reject' },
    }
    await api.client.create(priorityLevels, {
      apiVersion: flow,
      kind: 'PriorityLevelConfiguration',
      metadata: { name: user },
      spec: { type: 'Limited', limited },
    })
    const rules = [
      {
        subjects: [{ kind: 'User', user: { name: user } }],
        resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] }],
      },
    ]
    const made = await api.client.create(flowSchemas, {
      apiVersion: flow,
      kind: 'FlowSchema',
      metadata: { name: user },
      spec: { priorityLevelConfiguration: { name: user }, matchingPrecedence: 100, rules },
    })
    return made.metadata.uid
  }

  /** The uid of the schema by which the API server queues this user's requests now. */
  async function schemaOf(user: string): Promise<unknown> {
    const { headers } = await userOf(api.access, user).credentials()
    const asked = request(`${api.access.server}/api/v1/namespaces/${api.namespace}/configmaps/a`, {
      ca: api.access.ca,
      headers: { ...headers },
    })
    asked.end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.resume()
    return answer.headers['x-kubernetes-pf-flowschema-uid']
  }

  /**
   * A request that never ends: its body does not come. Turned away itself, since the one before it was answered and had
   * not left yet, it comes again; it would not hear of that if its body were shorter, for Go reads what is left of a
   * body of up to 256 KiB before it answers. Gives the function that gives it up.
   */
  async function hold(user: string): Promise<() => void> {
    const { headers } = await userOf(api.access, user).credentials()
    const path = `${api.access.server}/api/v1/namespaces/${api.namespace}/configmaps`
    let isOver = false
    const begin = (): ClientRequest => {
      const one = request(path, {
        method: 'POST',
        ca: api.access.ca,
        headers: { ...headers, 'content-type': 'application/json', 'content-length': '1000000' },
      })
      one.on('error', () => undefined)
      one.on('response', (answer) => {
        answer.resume()
        one.destroy()
        if (!isOver) held = begin()
      })
      one.write('{')
      return one
    }
    let held = begin()
    return () => {
      isOver = true
      held.destroy()
    }
  }

  it('waits as long as it is asked to and is served then; where that is past its deadline, it is told', async () => {
    const user = api.namespace
    const schema = await oneAtATime(user)
    const seen: string[] = []
    const client = clientWith(userOf(api.access, user), { onRequest: ({ code }) => void seen.push(code) })
    onTestFinished(() => client.close())
    const ask = (deadlineMs: number) =>
      client.get(configMaps, { namespace: api.namespace, name: 'a' }, { deadlineMs }).catch((error: unknown) => error)
    // The rules above are known everywhere in the API server within moments.
    await expect.poll(() => ask(900)).toBeUndefined()
    await expect.poll(() => schemaOf(user)).toBe(schema)

    const giveUp = await hold(user)
    onTestFinished(giveUp)
    await expect.poll(() => ask(900)).toMatchObject({ status: 429, reason: 'TooManyRequests', retryAfterMs: 1_000 })
    seen.length = 0
    const asked = ask(60_000)
    await expect.poll(() => seen.length).toBeGreaterThan(1)
    giveUp()
    expect(await asked).toBeUndefined()
    expect(seen.at(-1)).toBe('404')
    expect(new Set(seen.slice(0, -1))).toEqual(new Set(['429']))
  })
})
