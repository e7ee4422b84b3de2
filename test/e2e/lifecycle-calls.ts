import { expect } from 'vitest'
import type { ActionResponse } from '#agents/lifecycle/wire/calls.ts'
import { labels, namesOf } from '#kube/names/names.ts'
import { mysqlPort } from '#kube/objects/services.ts'
import { roleLabel } from '#kube/pod-events/marks.ts'
import { podEvents, type PodEvent } from '#kube/pod-events/pod-event.ts'
import { openSession, queryWithin } from '../support/sql-session.ts'
import { KubeCluster } from './kube-cluster.ts'

const token = 'the-token-of-those-who-call-lifecycle-actions'
/** Of the spec of a cluster whose agents serve lifecycle actions. */
export const lifecycle = {
  tokenSecret: { name: 'callers' },
  actions: '[{"name":"whoami","exec":{"command":["sh","-c","printf %s \\"$KB_AGENT_POD_NAME of $(id -u)\\""]}}]',
  probes: '[{"instance":"served","action":"roleProbe","periodSeconds":1}]',
}

/** What a person gives beside the resource: the token, and the right to write Events. */
export async function prepareLifecycle(name: string): Promise<void> {
  const cluster = await prepareReports(name)
  await giveToken(cluster)
}

/** A namespace for the cluster of this name, whose agents may write Events there. */
export async function prepareReports(name: string): Promise<KubeCluster> {
  const cluster = await KubeCluster.at(name, name)
  await cluster.kubectl('create', 'namespace', name)
  const role = ['--verb=get,create,update', '--resource=events']
  await cluster.kubectl('create', 'role', 'agents', ...role)
  const account = `--serviceaccount=${name}:${namesOf(name).serviceAccount}`
  await cluster.kubectl('create', 'rolebinding', 'agents', '--role=agents', account)
  return cluster
}

/** The Secret with the token of those who call. */
export async function giveToken(cluster: KubeCluster): Promise<void> {
  await cluster.kubectl('create', 'secret', 'generic', lifecycle.tokenSecret.name, `--from-literal=token=${token}`)
}

interface Call {
  readonly action: string
  readonly parameters?: Readonly<Record<string, string>>
}

interface How {
  readonly port?: number
  readonly headers?: Readonly<Record<string, string>>
}

const known: How = { headers: { authorization: `Bearer ${token}` } }

async function post(cluster: KubeCluster, instance: string, call: Call, { port = 3501, headers = {} }: How) {
  const host = (await cluster.pod(instance)).status?.podIP ?? ''
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}/v1.0/action`
  return fetch(address, { method: 'POST', headers, body: JSON.stringify(call), signal: AbortSignal.timeout(30_000) })
}

async function ask(cluster: KubeCluster, instance: string, call: Call, how = known): Promise<ActionResponse> {
  const answer = await post(cluster, instance, call, how)
  expect(answer.status).toBe(200)
  return (await answer.json()) as ActionResponse
}

/** What an action prints, or why it failed. */
export async function said(cluster: KubeCluster, instance: string, action: string, how = known): Promise<string> {
  const { output = '', error = '', message = '' } = await ask(cluster, instance, { action }, how)
  return error === '' ? Buffer.from(output, 'base64').toString() : `${error}: ${message}`
}

/** Waits until the agent of each instance says by its role probe what Regent's record says. */
export async function sayTheirRoles(cluster: KubeCluster, how = known): Promise<void> {
  let last: readonly string[] = []
  await cluster.until(
    () => `role probes that say who is primary; they said ${last.join(', ')}`,
    async () => {
      const { instances, primary } = await cluster.view()
      const roles = instances.map(async ({ name }) => `${name} ${await said(cluster, name, 'roleProbe', how)}`)
      last = await Promise.all(roles)
      return last.join() === instances.map(({ name }) => `${name} ${name === primary ? 'primary' : 'secondary'}`).join()
    },
    180_000,
  )
}

/** Agents say over HTTP who is primary, run scripts, and ask for the token of the Secret. */
export async function expectActions(cluster: KubeCluster): Promise<void> {
  await sayTheirRoles(cluster)
  const primary = await cluster.primary()
  expect(await said(cluster, primary, 'whoami')).toBe(`${primary} of 65532`)
  await expectNoStrangers(cluster, primary)
}

/** Who sends no token is refused. */
export async function expectNoStrangers(cluster: KubeCluster, instance: string): Promise<void> {
  expect((await post(cluster, instance, { action: 'roleProbe' }, {})).status).toBe(401)
}

/** The primary's agent makes an account that replicas know too, and no other agent makes one. */
export async function expectAccount(cluster: KubeCluster): Promise<void> {
  const [replica = ''] = await cluster.replicas()
  const [user, password] = ['provisioned', 'it is a pass;word']
  const call = {
    action: 'accountProvision',
    parameters: {
      KB_ACCOUNT_NAME: user,
      KB_ACCOUNT_PASSWORD: password,
      KB_ACCOUNT_STATEMENT: "CREATE USER IF NOT EXISTS '${KB_ACCOUNT_NAME}' IDENTIFIED BY '${KB_ACCOUNT_PASSWORD}'",
    },
  }
  expect(await ask(cluster, replica, call)).toMatchObject({ error: 'preconditionFailed' })
  expect(await ask(cluster, await cluster.primary(), call)).toEqual({})
  const host = (await cluster.pod(replica)).status?.podIP ?? ''
  const ssl = { rejectUnauthorized: false }
  await cluster.until(
    () => `a login as ${user} at ${replica}`,
    async () => {
      const session = await openSession({ host, port: mysqlPort, ssl, user, password }, 5_000)
      try {
        return (await queryWithin(session, 'select 1', 5_000)).length === 1
      } finally {
        session.destroy()
      }
    },
  )
}

/** Agents report in Events who is primary now, and labels go on coming from Regent's record. */
export async function expectReports(cluster: KubeCluster): Promise<void> {
  const [to = ''] = await cluster.replicas()
  await cluster.handOver(to)
  await sayTheirRoles(cluster)
  await reported(cluster, to, { probe: 'roleProbe', output: 'primary' })
  // The label of a new primary comes a moment after its server.
  await cluster.until(
    () => `label ${labels.role}=primary of ${to}`,
    async () => (await cluster.pod(to)).metadata.labels?.[labels.role] === 'primary',
  )
  expect((await cluster.pod(to)).metadata.labels).not.toHaveProperty([roleLabel])
}

/** Waits until the API server has an Event of a probe of this pod that printed this, and gives the Event. */
export async function reported(
  cluster: KubeCluster,
  pod: string,
  { probe, output }: { readonly probe: string; readonly output: string },
): Promise<PodEvent> {
  const fieldSelector = `reportingComponent=kbagent,reason=${probe},involvedObject.name=${pod}`
  const encoded = Buffer.from(output).toString('base64')
  const says = ({ message = '' }: PodEvent): boolean =>
    (JSON.parse(message) as { readonly output?: string }).output === encoded
  return cluster.until(
    () => `an Event that ${probe} of ${pod} says ${output}`,
    async () =>
      (await cluster.client.list(podEvents, { namespace: cluster.namespace, fieldSelector })).items.find(says),
    120_000,
  )
}
