import { appLabel, type App } from './app.ts'
import { appSpecSchema, longestAppName } from './app-schema.ts'
import { wholeSpecOf } from './app-defaults.ts'
import { quantityOf } from '../spec/quantity.ts'
import { withoutNulls } from '../spec/without-nulls.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'

/** What is wrong with an App whose fields are each as they should be, in sentences. */
export function* complaintsAboutApp(given: App): Generator<Sentence> {
  const app = { ...given, spec: withoutNulls(appSpecSchema, given.spec) }
  const { image, resources, podLabels } = app.spec
  const { name } = app.metadata
  if (image === undefined || image.trim() === '')
    yield say`spec.image is not given: there is nothing to run; name an image`
  if (name.length > longestAppName)
    yield say`metadata.name has ${name.length} characters; allowed are ${longestAppName}: names of pods are made of it`
  yield* complaintsAboutPorts(app)
  yield* complaintsAboutResources(resources)
  if (podLabels[appLabel] !== undefined) yield say`spec.podLabels has ${appLabel}, which is Regent’s; leave it out`
  yield* complaintsAboutVolumes(app)
}

function* complaintsAboutPorts(app: App): Generator<Sentence> {
  const { ports } = wholeSpecOf(app)
  const numbers = ports.map(({ port, protocol }) => `${port}/${protocol}`)
  const number = twiceIn(numbers)
  if (number !== undefined) {
    yield say`spec.ports has port ${number} twice; each port needs a number of its own`
    return
  }
  const name = twiceIn(ports.map((port) => port.name))
  if (name !== undefined) yield say`spec.ports has the name ${name} twice; each port needs a name of its own`
}

function* complaintsAboutResources(resources: App['spec']['resources']): Generator<Sentence> {
  const { requests = {}, limits = {} } = (resources ?? {}) as Readonly<
    Record<string, Readonly<Record<string, unknown>>>
  >
  for (const [kind, quantities] of Object.entries({ requests, limits }))
    for (const [name, quantity] of Object.entries(quantities))
      if (Number.isNaN(quantityOf(String(quantity))))
        yield say`spec.resources.${kind}.${name} is "${String(quantity).slice(0, 40)}"; allowed is a quantity such as 500m or 2Gi`
  for (const [name, request] of Object.entries(requests))
    if (quantityOf(String(request)) > quantityOf(String(limits[name])))
      yield say`spec.resources.requests.${name} is ${String(request)}; allowed is at most its limit, ${String(limits[name])}`
}

/** A mount of a volume that there is not is refused by the Deployment, long after the App is stored. */
function* complaintsAboutVolumes({ spec: { volumes = [], volumeMounts = [] } }: App): Generator<Sentence> {
  const names = volumes.map(({ name }) => String(name))
  const twice = twiceIn(names)
  if (twice !== undefined) yield say`spec.volumes has ${twice} twice; each volume needs a name of its own`
  for (const { name } of volumeMounts)
    if (!names.includes(String(name)))
      yield say`spec.volumeMounts names ${String(name)}, which is not in spec.volumes${names.length > 0 ? say`; there is ${names.join(', ')}` : ''}`
}

function twiceIn(names: readonly string[]): string | undefined {
  return names.find((name, at) => names.indexOf(name) !== at)
}
