import type { V1Container, V1Pod, V1PodSpec } from '@kubernetes/client-node'
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { issueAuthority, issueLeaf, type Issued } from '#certificates/issue.ts'
import { createLogger } from '#common/log/logger.ts'
import { realRandom, realWorld } from '#common/ports/real-world.ts'
import { HeldCertificates } from '#common/tls/tls.ts'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { admissionRoutes, type AdmissionRequest, type AdmissionResponse } from '#kube/admission/admission.ts'
import { injectAuthority } from '#kube/certificates/webhook-authority.ts'
import { serviceAccounts } from '#kube/objects/service-account.ts'
import { webhookServer } from '#manager/servers/webhook.ts'
import { ask, namespaces, type RawAnswer } from './clients.ts'
import { describeCharts, only, render } from './helm.ts'
import { patienceMs } from '../support/patience.ts'
import { onApiServer } from './on-api-server.ts'
import { say } from '#common/sentence/sentence.ts'

interface Webhook {
  readonly name: string
  readonly clientConfig: { readonly service?: object; readonly caBundle?: string }
}

interface Configuration extends KubeObject {
  readonly webhooks: readonly Webhook[]
}

const configurations: Resource<Configuration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
  namespaced: false,
}
const host = '127.0.0.1'
const moment = { wallMs: Date.now(), random: realRandom }
const log = createLogger({ level: 'silent', name: 'test' })
const asking = {
  'regent.dev/lifecycle-agent': 'true',
  'regent.dev/lifecycle-open': 'true',
  'regent.dev/lifecycle-actions':
    '[{"name":"roleProbe","exec":{"image":"mysql:8.4.3","container":"db","command":["sh","-c","echo $(hostname)"]}}]',
  'regent.dev/lifecycle-probes': '[{"instance":"shop-db","action":"roleProbe"}]',
}

onApiServer('a pod on a real API server', (api) =>
  describeCharts('beside the chart’s webhook', () => {
    let authority: Issued
    let answers: number
    let isBroken: boolean
    let name: string
    let stop: () => Promise<void>

    beforeAll(async () => {
      authority = await issueAuthority(86_400_000, moment)
    })

    beforeEach(async () => {
      ;[answers, isBroken] = [0, false]
      name = `injection-${realRandom.hex(10)}`
      const { namespace } = api
      await api.client.create(serviceAccounts, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'default', namespace },
        automountServiceAccountToken: true,
      })
      const server = await served()
      stop = server.stop
      await api.client.create(configurations, await configurationFor(server.port))
      await until(async () => named((await made({ asked: asking, query: '?dryRun=All' })).spec).includes('kbagent'))
      answers = 0
    })

    afterEach(async () => {
      await api.client.delete(configurations, { namespace: '', name })
      await stop()
    })

    async function served() {
      const certificates = new HeldCertificates()
      const leaf = await issueLeaf(
        authority,
        { dns: [], ips: [host], purposes: ['server'], validMs: 3_600_000 },
        moment,
      )
      certificates.put({ ...leaf, ca: authority.cert }, say`a test`)
      const { '/mutate/pods': shipped } = admissionRoutes({
        defaults: {},
        lifecycleAgent: { image: 'regent:1', pullPolicy: 'Never', address: '0.0.0.0' },
        clusterOf: () => undefined,
      })
      const review = (asked: AdmissionRequest): AdmissionResponse => {
        answers += 1
        if (isBroken) throw new TypeError('a mistake of Regent’s')
        return shipped.review(asked)
      }
      const routes = { '/mutate/pods': { ...shipped, review } }
      const server = webhookServer({ address: { host, port: 0 }, certificates, routes, log })
      const ending = new AbortController()
      const running = server.run(ending.signal)
      const { port } = await server.ready()
      return { port, stop: (): Promise<void> => (ending.abort(), running) }
    }

    /** The chart's, but for this test alone, and at an address that can be reached without a cluster's network. */
    async function configurationFor(port: number): Promise<Configuration> {
      const chart = only(await render('regent', { watchNamespaces: [api.namespace] }), 'MutatingWebhookConfiguration')
      const webhook = (chart as unknown as Configuration).webhooks.find((one) => one.name.includes('pods'))
      if (webhook === undefined) throw new Error('the chart asks about no pods')
      const clientConfig = {
        url: `https://${host}:${port}/mutate/pods`,
        caBundle: Buffer.from(authority.cert).toString('base64'),
      }
      const { apiVersion, kind } = chart
      return { apiVersion, kind, metadata: { name }, webhooks: [{ ...webhook, clientConfig }] }
    }

    interface Asked {
      readonly asked?: Readonly<Record<string, string>>
      readonly spec?: Partial<V1PodSpec>
      readonly query?: string
    }

    function post({ asked, spec = {}, query = '' }: Asked): Promise<RawAnswer> {
      const containers = [{ name: 'db', image: 'db:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }]
      return ask(api.access, {
        method: 'POST',
        path: `/api/v1/namespaces/${api.namespace}/pods${query}`,
        body: {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { generateName: 'shop-', ...(asked && { annotations: asked }) },
          spec: { containers, volumes: [{ name: 'data', emptyDir: {} }], ...spec },
        },
      })
    }

    async function made(asked: Asked): Promise<Required<Pick<V1Pod, 'spec'>>> {
      const { status, body } = await post(asked)
      expect([status, status === 201 ? '' : body]).toEqual([201, ''])
      return body as Required<Pick<V1Pod, 'spec'>>
    }

    it('that asks for the lifecycle agent comes out with the agent, as the API server takes it', async () => {
      const { spec } = await made({ asked: asking })
      expect(named(spec)).toEqual(['db', 'kbagent'])
      expect(spec.initContainers?.map((one) => `${one.name} ${one.image}`)).toEqual(['init-kbagent regent:1'])
      const agent = spec.containers[1] as V1Container
      expect(agent).toMatchObject({ image: 'mysql:8.4.3', command: ['/opt/regent/bin/regent'] })
      const mounted = agent.volumeMounts?.map(({ mountPath }) => mountPath)
      expect(mounted).toEqual(['/data', accountToken, '/opt/regent', '/tmp'])
      const known = spec.volumes?.map((volume) => volume.name)
      for (const { name: volume } of agent.volumeMounts ?? []) expect(known).toContain(volume)
    })

    it('with a token and a ConfigMap is of the restricted level, and has the token that Events are sent with', async () => {
      const level = { 'pod-security.kubernetes.io/enforce': 'restricted' }
      const own = { namespace: '', name: api.namespace }
      await api.client.patch(namespaces, own, { metadata: { labels: level } })
      const { spec } = await made({
        asked: {
          'regent.dev/lifecycle-agent': 'true',
          'regent.dev/lifecycle-token-secret': 'shop-agents',
          'regent.dev/lifecycle-config-map': 'shop-env',
        },
        spec: { securityContext: { fsGroup: 7 }, containers: [restricted] },
      })
      expect(named(spec)).toEqual(['db', 'kbagent'])
      expect(spec.initContainers?.map((one) => one.name)).toEqual(['kbagent-worker'])
      expect(spec.volumes).toContainEqual(expect.objectContaining({ name: 'kbagent-token' }))
      for (const { volumeMounts = [] } of [...(spec.initContainers ?? []), ...spec.containers.slice(1)])
        expect(volumeMounts.map(({ mountPath }) => mountPath)).toEqual(['/run/regent-lifecycle', '/tmp', accountToken])
    })

    it('that does not ask is untouched, and Regent is not asked about the pod', async () => {
      const others = [{}, { asked: { note: 'x' } }, { asked: { ...asking, 'regent.dev/lifecycle-agent': 'false' } }]
      for (const other of others) expect(named((await made(other)).spec)).toEqual(['db'])
      expect(answers).toBe(0)
      await made({ asked: asking })
      expect(answers).toBeGreaterThan(0)
    })

    it('that has the container already is left as it is', async () => {
      const containers = [{ name: 'kbagent', image: 'other:1' }]
      const { spec } = await made({ asked: asking, spec: { containers } })
      expect(spec.containers).toMatchObject([{ name: 'kbagent', image: 'other:1' }])
      expect(spec.initContainers).toBeUndefined()
    })

    it('that asks for what cannot be had is refused with a sentence', async () => {
      const { status, body } = await post({ asked: { ...asking, 'regent.dev/lifecycle-container': 'web' } })
      expect(status).toBe(422)
      expect(body).toMatchObject({
        message: expect.stringContaining('name more than one container: web, db; all actions run in one') as string,
      })
    })

    it('is made without the agent while no manager answers', async () => {
      await stop()
      expect(named((await made({ asked: asking })).spec)).toEqual(['db'])
    })

    it('is made without the agent where Regent fails to judge the pod', async () => {
      isBroken = true
      expect(named((await made({ asked: asking })).spec)).toEqual(['db'])
      expect(answers).toBeGreaterThan(0)
    })

    it('is asked about with the authority that the manager keeps in every webhook of Regent’s', async () => {
      const rendered = only(await render('regent', {}), 'MutatingWebhookConfiguration')
      const kept = { ...rendered, metadata: { name: `${name}-kept` } } as unknown as Configuration
      const nowhere = { matchLabels: { nowhere: 'nobody' } }
      await api.client.create(configurations, {
        ...kept,
        webhooks: kept.webhooks.map((webhook) => ({ ...webhook, namespaceSelector: nowhere })),
      })
      try {
        await injectAuthority(api.client, { name: `${name}-kept`, ca: authority.cert }, {})
        const found = await api.client.get(configurations, { namespace: '', name: `${name}-kept` })
        const ca = Buffer.from(authority.cert).toString('base64')
        expect(found?.webhooks.map(({ clientConfig }) => clientConfig.caBundle)).toEqual(kept.webhooks.map(() => ca))
      } finally {
        await api.client.delete(configurations, { namespace: '', name: `${name}-kept` })
      }
    })
  }),
)

const accountToken = '/var/run/secrets/kubernetes.io/serviceaccount'
const restricted: V1Container = {
  name: 'db',
  image: 'db:1',
  securityContext: {
    runAsNonRoot: true,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  },
}
const named = ({ containers }: V1PodSpec): readonly string[] => containers.map(({ name }) => name)

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (const began = performance.now(); !(await holds()); await realWorld.timers.sleep(50))
    if (performance.now() - began > patienceMs) throw new Error('the API server does not ask the webhook')
}
