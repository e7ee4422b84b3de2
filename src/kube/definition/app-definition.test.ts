import { runInNewContext } from 'node:vm'
import { Value } from 'typebox/value'
import { expect, it } from 'vitest'
import { validateApp } from '../admission/app-validation.ts'
import type { App } from '../app/app.ts'
import { appSpecSchema, type AppSpec } from '../app/app-schema.ts'
import { appDefinition } from './app-definition.ts'

/** The App as the API server stores the App without a webhook: nothing but defaults is filled in. */
function anApp(service: object, podLabels: object = {}): App {
  return {
    apiVersion: 'apps.regent.dev/v1',
    kind: 'App',
    metadata: { name: 'web', namespace: 'shops' },
    spec: Value.Default(appSpecSchema, { image: 'web:1', service, podLabels }) as AppSpec,
  }
}

const rules = appDefinition().spec.versions[0]?.schema.openAPIV3Schema['x-kubernetes-validations'] ?? []

/** These rules are written in words that CEL and JavaScript share. */
function isRefused(self: App, oldSelf: App): boolean {
  const has = (field: unknown): boolean => field !== undefined
  return rules.some(({ rule }) => runInNewContext(rule, { self, oldSelf, has }) === false)
}

const changes: readonly (readonly [string, App, App])[] = [
  ['a name of the Service where there was none', anApp({}), anApp({ name: 'other' })],
  ['the name that the Service has', anApp({}), anApp({ name: 'web' })],
  ['another name', anApp({ name: 'shop-web' }), anApp({ name: 'other' })],
  ['no name any more', anApp({ name: 'shop-web' }), anApp({})],
  ['no name any more, and that was the name of the App', anApp({ name: 'web' }), anApp({})],
  ['the same name', anApp({ name: 'shop-web' }), anApp({ name: 'shop-web' })],
  ['the label by which pods are told apart', anApp({}), anApp({}, { 'apps.regent.dev/app': 'other' })],
  ['another label', anApp({}), anApp({}, { colour: 'red' })],
]

it.each(changes)('The API server refuses alone what the webhook refuses: %s', (_, before, next) => {
  expect(isRefused(next, before)).toBe(validateApp(next, before).refusals.length > 0)
})
