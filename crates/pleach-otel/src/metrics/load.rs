//! [`Loads`]: gauges for the load of Runners.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry::KeyValue;
use opentelemetry::metrics::Meter;
use pleach_runner::{Runner, RunnerLoad};

/// Reads the load of a Runner; `None` if the last clone of the Runner was dropped.
type ReadLoad = Box<dyn Fn() -> Option<RunnerLoad> + Send + Sync>;

/// The name, the unit and the description of a gauge, and its value in a load.
type Gauge = (&'static str, &'static str, &'static str, fn(&RunnerLoad) -> usize);

/// The names of apps, with the Runners whose load is read when metrics are exported.
#[derive(Clone, Default)]
pub(super) struct Loads(Arc<Mutex<Vec<(String, ReadLoad)>>>);

impl Loads {
    pub(super) fn new(meter: &Meter) -> Self {
        let loads = Self::default();
        let gauges: [Gauge; 4] = [
            ("pleach.runs.active", "{run}", "Runs that are working.", |load| load.active),
            ("pleach.runs.detached", "{run}", "Runs that are working without a reader.", |load| load.detached),
            ("pleach.runs.queued", "{run}", "Runs that wait for a busy session.", |load| load.queued),
            ("pleach.deadlines", "{deadline}", "Deadlines that are kept in memory.", |load| load.deadlines),
        ];
        for (name, unit, about, value) in gauges {
            let loads = loads.clone();
            let gauge = meter.u64_observable_gauge(name).with_unit(unit).with_description(about);
            // The meter keeps the instrument alive.
            let _ = gauge
                .with_callback(move |observer| {
                    for (app, load) in loads.by_app() {
                        observer.observe(value(&load) as u64, &[KeyValue::new("pleach.app.name", app)]);
                    }
                })
                .build();
        }
        loads
    }

    /// Adds a Runner whose load is read from now on.
    pub(super) fn watch(&self, runner: &Runner) {
        let read: ReadLoad = Box::new(runner.load_reader());
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Dropped Runners must be removed here as well, because metrics may never be exported.
        watched.retain(|(_, read)| read().is_some());
        watched.push((runner.app_name().to_string(), read));
    }

    /// Returns the load of each app, which is the sum of its Runners. Dropped Runners are removed.
    fn by_app(&self) -> BTreeMap<String, RunnerLoad> {
        let mut sums: BTreeMap<String, RunnerLoad> = BTreeMap::new();
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|(app, read)| {
            let Some(load) = read() else { return false };
            let sum = sums.entry(app.clone()).or_default();
            sum.active += load.active;
            sum.detached += load.detached;
            sum.queued += load.queued;
            sum.deadlines += load.deadlines;
            true
        });
        sums
    }
}

impl fmt::Debug for Loads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_list().entries(watched.iter().map(|(app, _)| app)).finish()
    }
}
