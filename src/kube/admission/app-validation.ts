import { isDeepStrictEqual } from 'node:util'
import { Value } from 'typebox/value'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import type { JsonPatch } from '#controller-runtime/client/kube-client.ts'
import type { App } from '../app/app.ts'
import { complaintsAboutApp } from '../app/app-complaints.ts'
import { probeAskedFor, wholeSpecOf } from '../app/app-defaults.ts'
import { appSpecSchema, type AppSpec } from '../app/app-schema.ts'
import { isPinned } from './mysql-image.ts'

/** Judges an App that is to be made or changed. */
export function validateApp(
  next: App,
  before: App | undefined,
): { readonly refusals: readonly RegentError[]; readonly warnings: readonly string[] } {
  if (before !== undefined && isDeepStrictEqual(next.spec, before.spec)) return { refusals: [], warnings: [] }
  const app = { ...next, spec: filled(next.spec) }
  const complaint = complaintAbout(appSpecSchema, app.spec)
  const refusals =
    complaint === undefined
      ? [...complaintsAboutApp(app)].map((sentence) => new RegentError('REGENT_BAD_REQUEST', sentence))
      : [new RegentError('REGENT_BAD_REQUEST', say`spec: ${reported(complaint)}`)]
  if (refusals.length > 0) return { refusals, warnings: [] }
  const fixed = before === undefined ? [] : [...changedFixed(app, { ...before, spec: filled(before.spec) })]
  return { refusals: fixed, warnings: fixed.length > 0 ? [] : warningsAbout(app) }
}

/** What is written into an App where nothing is said. The name of the Service stays as it was. */
export function defaultApp(next: App, before: App | undefined): JsonPatch {
  const spec = filled(next.spec)
  if (complaintAbout(appSpecSchema, spec) !== undefined) return []
  // The API server makes a name up after the webhooks, where somebody asks for that.
  const name = spec.service.name ?? before?.spec.service.name ?? next.metadata.name
  if (name === undefined || name === '') return []
  const { readinessProbe: _taken, ...whole } = wholeSpecOf({
    ...next,
    spec: { ...spec, service: { ...spec.service, name } },
  })
  const probe = probeAskedFor(spec, before && filled(before.spec))
  const value = { ...whole, ...(probe !== undefined && { readinessProbe: probe }) }
  return isDeepStrictEqual(value, next.spec) ? [] : [{ op: 'replace', path: '/spec', value }]
}

function filled(spec: AppSpec): AppSpec {
  return Value.Default(appSpecSchema, structuredClone(spec)) as AppSpec
}

function* changedFixed(next: App, before: App): Generator<RegentError> {
  const [now, was] = [wholeSpecOf(next).service.name, wholeSpecOf(before).service.name]
  if (now !== was)
    yield new RegentError(
      'REGENT_REFUSED',
      say`spec.service.name is "${now}"; allowed is "${was}": clients know that name; make another App`,
    )
}

function warningsAbout({ spec: { image = '', ports, replicas } }: App): readonly string[] {
  return [
    ...(isPinned(image)
      ? []
      : [`spec.image "${image.slice(0, 80)}" names no version: a pod that is made again may run another one`]),
    ...(ports.length === 0 ? ['spec.ports is empty: there is no Service, and nobody is led to the pods'] : []),
    ...(replicas === 0 ? ['spec.replicas is 0: nothing runs'] : []),
  ]
}
