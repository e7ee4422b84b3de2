import { isDeepStrictEqual } from 'node:util'
import { codeOf, describeError, RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import type { Clock } from '#common/ports/ports.ts'
import { deleteObject } from '#controller-runtime/changes/delete-object.ts'
import { applyObject, applyStatus } from '#controller-runtime/changes/server-side-apply.ts'
import { KubeApiError } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import type { Reconcile } from '#controller-runtime/controller/controller.ts'
import type { EventRecorder } from '#controller-runtime/events/event-recorder.ts'
import type { InformerPort } from '#controller-runtime/informers/informer-port.ts'
import { isReady } from '#controller-runtime/objects/conditions.ts'
import { keyOf, keyText, type KubeObject, type ObjectKey, type Resource } from '#controller-runtime/objects/objects.ts'
import { controllerOf, isControlledBy } from '#controller-runtime/objects/owner-references.ts'
import { appLabel, apps, type App } from '#kube/app/app.ts'
import { wholeSpecOf } from '#kube/app/app-defaults.ts'
import { appSelectorTextOf, appServiceOf, deploymentOf, deployments, type Deployment } from '#kube/app/app-objects.ts'
import { appStatusOf } from '#kube/app/app-status.ts'
import { complaintsAboutApp } from '#kube/app/app-complaints.ts'
import { fieldManager } from '#kube/names/names.ts'
import { services, type Service } from '#kube/objects/services.ts'
import { pods as podResource } from '#kube/pods/stateful-set.ts'
import { addedToService } from '#kube/primary/added-by-others.ts'
import { applyOverOthers } from '../objects/apply-over-others.ts'
import { LastingTroubles } from '../objects/lasting-troubles.ts'
import { keeperOfDeployments, type TemplateKeeper } from '../objects/keep-template.ts'
import { PutRight } from './put-right.ts'

export interface ReconcileAppParts {
  readonly client: KubeClient
  readonly clock: Clock
  readonly apps: InformerPort<App>
  readonly leads: () => boolean
  readonly recorder: Pick<EventRecorder, 'record'>
}

/** What is remembered of the objects of Apps, and who is told what was put right of them. */
interface Keeping extends ReconcileAppParts {
  readonly templates: Pick<TemplateKeeper<Deployment>, 'keep' | 'forget'>
  readonly putRight: PutRight
  readonly lasting: LastingTroubles
}

/** Another name than that of what applies objects: a status is written on its own. */
const statusManager = 'regent-status'
/** Pods tell of themselves only here: nothing watches them. */
const lookAgainMs = 5_000
/** Nothing tells that a person took an object of somebody else out of the way. */
const troubledMs = 30_000

interface Made {
  readonly deployment?: Deployment | undefined
  readonly service?: Service | undefined
  readonly trouble: string
}

/** Gives an `App` its Deployment and its Service, puts right what others changed, and tells how that is. */
export function reconcileApp(given: ReconcileAppParts): Reconcile {
  const lasting = new LastingTroubles(given.clock)
  const parts: Keeping = { ...given, templates: keeperOfDeployments(given), putRight: new PutRight(), lasting }
  return async (key, signal) => {
    const app = parts.apps.get(key)
    // What it owns goes with it, by Kubernetes' own hand.
    if (app === undefined || app.metadata.deletionTimestamp !== undefined) return forget(parts, key)
    if (!parts.leads()) return
    const made = await makeAll(parts, app, signal)
    lasting.ended(key)
    const isReady = await tell(parts, app, made, signal)
    return made.trouble !== '' ? { requeueAfterMs: troubledMs } : isReady ? {} : { requeueAfterMs: lookAgainMs }
  }
}

function forget({ templates, putRight, lasting }: Keeping, key: ObjectKey): void {
  templates.forget(key)
  lasting.ended(key)
  for (const kind of [deployments.kind, services.kind]) putRight.forget(key, kind)
}

async function makeAll(parts: Keeping, app: App, signal: AbortSignal): Promise<Made> {
  const { client } = parts
  const names = namesOf(app)
  const [deployment, service] = await Promise.all([
    client.get(deployments, names.deployment, { signal }),
    client.get(services, names.service, { signal }),
  ])
  const before = { deployment: ofThis(app, deployment), service: ofThis(app, service) }
  try {
    refuseUnfollowable(app)
    // Without ports the name of the Service is anybody's.
    const needed = app.spec.ports.length === 0 ? [deployment] : [deployment, service]
    for (const live of needed) if (live !== undefined) refuseForeign(app, live)
    return {
      deployment: await keepDeployment(parts, app, deployment, signal),
      service: await keepService(parts, app, service, signal),
      trouble: '',
    }
  } catch (error) {
    if (signal.aborted) throw error
    const made = { ...before, trouble: describeError(error) }
    if (!isPassing(error)) return made
    // May go on for ever, as where a webhook that must answer is away. The App is tried again as before.
    if (parts.lasting.lasts(keyOf(app)) || isInternal(error)) await tell(parts, app, made, signal)
    throw error
  }
}

function namesOf(app: App): { readonly deployment: ObjectKey; readonly service: ObjectKey } {
  const key = keyOf(app)
  return { deployment: key, service: { ...key, name: wholeSpecOf(app).service.name } }
}

/** The API server takes everything its schema allows while no webhook answers. */
function refuseUnfollowable(app: App): void {
  const complaints = [...complaintsAboutApp(app)]
  if (complaints.length > 0) throw new RegentError('REGENT_BAD_REQUEST', say`${reported(complaints.join('; '))}`)
}

/** An apply would take over an object of somebody else, and the App would delete that with itself. */
function refuseForeign(app: App, live: KubeObject): void {
  if (isControlledBy(live, app)) return
  const isGiven = controllerOf(live) === undefined && live.metadata.labels?.[appLabel] === app.metadata.name
  if (isGiven) return
  const foreign = say`${live.kind} ${keyText(keyOf(live))}`
  throw new RegentError(
    'REGENT_REFUSED',
    say`${foreign} is not of App ${app.metadata.name}, which needs its name: nothing of it is changed. Give the App another name, or delete it`,
  )
}

function ofThis<Kind extends KubeObject>(app: App, live: Kind | undefined): Kind | undefined {
  return live !== undefined && isControlledBy(live, app) ? live : undefined
}

function applied<Kind extends KubeObject>(
  client: KubeClient,
  resource: Resource<Kind>,
  object: KubeObject,
  signal: AbortSignal,
): Promise<Kind> {
  return applyObject(client, resource, object, { fieldManager, signal })
}

async function keepDeployment(
  { client, templates, putRight, recorder }: Keeping,
  app: App,
  live: Deployment | undefined,
  signal: AbortSignal,
): Promise<Deployment> {
  const wanted = deploymentOf(app)
  const now = await applied(client, deployments, wanted, signal)
  mention(recorder, app, putRight.sentence(keyOf(app), wanted, live, now))
  mention(recorder, app, await templates.keep(wanted, now, signal))
  return now
}

function mention(recorder: Keeping['recorder'], app: App, note: string): void {
  if (note !== '') recorder.record({ regarding: app, type: 'Warning', reason: 'PutRight', action: 'PutRight', note })
}

async function keepService(
  { client, putRight, recorder }: Keeping,
  app: App,
  live: Service | undefined,
  signal: AbortSignal,
): Promise<Service | undefined> {
  const wanted = appServiceOf(app)
  if (wanted === undefined) {
    const own = ofThis(app, live)
    if (own !== undefined) await deleteObject(client, services, own, { signal })
    return undefined
  }
  const apply = () => applied(client, services, wanted, signal)
  const now = await (live === undefined ? apply() : applyOverOthers(wanted, apply, { client, signal }))
  mention(recorder, app, putRight.sentence(keyOf(app), wanted, live, now))
  // An apply takes nothing away that others added, and that leads clients elsewhere.
  const added = addedToService(wanted, now)
  if (added === undefined) return now
  const kept = await client.patch(services, keyOf(wanted), { spec: added.spec }, { fieldManager, signal })
  const what = `Service ${wanted.metadata.name} had what is not the App’s: ${added.what}. It is taken away`
  mention(recorder, app, what)
  return kept
}

/** The error says nothing about the App: something was read too early, or the API server has no time. */
function isPassing(error: unknown): boolean {
  return error instanceof KubeApiError
    ? [404, 409, 429, 500, 503, 504].includes(error.status)
    : codeOf(error) === 'REGENT_KUBE_UNREACHABLE'
}

/** The API server itself has failed, or somebody whom the API server must ask first. */
function isInternal(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 500
}

/** Whether all pods are ready. */
async function tell({ client, clock }: ReconcileAppParts, app: App, made: Made, signal: AbortSignal): Promise<boolean> {
  const { deployment, service, trouble } = made
  const seen = { app, deployment, service, trouble, wallMs: clock.wallMs() }
  const first = appStatusOf({ ...seen, pods: [] })
  const areReady = isReady({ status: first })
  const pods = areReady || deployment === undefined ? [] : await podsOf(client, app, signal)
  const status = pods.length === 0 ? first : appStatusOf({ ...seen, pods })
  if (isDeepStrictEqual(status, app.status)) return areReady
  const { apiVersion, kind, metadata } = app
  await applyStatus(client, apps, { apiVersion, kind, metadata, status }, { fieldManager: statusManager, signal })
  return areReady
}

async function podsOf(client: KubeClient, app: App, signal: AbortSignal) {
  const { namespace, name } = keyOf(app)
  const found = await client.list(podResource, { namespace, labelSelector: appSelectorTextOf(name), limit: 50, signal })
  return found.items
}
