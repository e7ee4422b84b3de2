import type { NextPass as PassOf } from '../instance/pass.ts'
import { commonSteps, type Performers, type StepOf } from '../instance/steps.ts'
import { settingsSteps } from '../guard/managed-settings.ts'
import { primarySteps } from './primary-steps.ts'
import { replicaSteps } from './replica-steps.ts'

/** All that is done in mode `semisync`. What each step is for is told where it is decided. */
export const semisyncSteps = {
  ...commonSteps,
  ...settingsSteps,
  ...primarySteps,
  ...replicaSteps,
} satisfies Performers

export type Step = StepOf<typeof semisyncSteps>
export type NextPass = PassOf<Step>
