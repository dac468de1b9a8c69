//! Handles for the ends of edges: [`NodeRef`] and [`START`].

use std::fmt;
use std::marker::PhantomData;

use pleach_context::{Dynamic, Feeds};

/// A handle of a node in a workflow under construction, with its input and output types. It is `Copy`.
pub struct NodeRef<In, Out> {
    pub(crate) index: usize,
    pub(crate) graph: u64,
    types: PhantomData<fn(In) -> Out>,
}

impl<In, Out> NodeRef<In, Out> {
    pub(crate) fn new(graph: u64, index: usize) -> Self {
        Self { index, graph, types: PhantomData }
    }

    /// Returns the handle without types: its edges are checked only at run time.
    #[must_use]
    pub fn dynamic(self) -> NodeRef<Dynamic, Dynamic> {
        NodeRef::new(self.graph, self.index)
    }

    /// Returns the handle with the output type `T`, which is checked at run time.
    #[must_use]
    pub fn gives<T>(self) -> NodeRef<In, T> {
        NodeRef::new(self.graph, self.index)
    }
}

impl<In, Out> Clone for NodeRef<In, Out> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<In, Out> Copy for NodeRef<In, Out> {}

impl<In, Out> fmt::Debug for NodeRef<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeRef({})", self.index)
    }
}

/// The type of [`START`]. ADK: `START`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "START")]
pub struct Start;

/// The start of a workflow: edges from it lead to the first nodes, which receive the workflow's input.
pub const START: Start = Start;

/// One end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// [`START`].
    Start,
    /// A node of the graph with this id.
    Node {
        /// The graph that the handle belongs to.
        graph: u64,
        /// The index of the node in the graph.
        index: usize,
    },
}

/// A source of edges: a node, or [`START`], whose output is the workflow's input `W`.
pub trait Source<W>: Copy {
    /// The output type.
    type Out;
    /// Returns the end of the edge.
    fn end(self) -> End;
}

impl<W> Source<W> for Start {
    type Out = W;
    fn end(self) -> End {
        End::Start
    }
}

impl<W, In, Out> Source<W> for NodeRef<In, Out> {
    type Out = Out;
    fn end(self) -> End {
        End::Node { graph: self.graph, index: self.index }
    }
}

/// Targets of edges: one or several nodes. [`START`] compiles as well, but `build` reports it as a fault.
pub trait Targets<Out, M> {
    /// Adds the ends of the edges.
    fn ends(&self, ends: &mut Vec<End>);
}

impl<In, O, Out, M> Targets<Out, M> for NodeRef<In, O>
where
    Out: Feeds<In, M>,
{
    fn ends(&self, ends: &mut Vec<End>) {
        ends.push(End::Node { graph: self.graph, index: self.index });
    }
}

/// Marker of an edge that leads back to [`START`].
#[derive(Debug)]
pub enum Back {}

impl<Out> Targets<Out, Back> for Start {
    fn ends(&self, ends: &mut Vec<End>) {
        ends.push(End::Start);
    }
}

impl<T: Targets<Out, M>, Out, M, const N: usize> Targets<Out, [M; N]> for [T; N] {
    fn ends(&self, ends: &mut Vec<End>) {
        for target in self {
            target.ends(ends);
        }
    }
}

impl<T: Targets<Out, M>, Out, M> Targets<Out, Vec<M>> for Vec<T> {
    fn ends(&self, ends: &mut Vec<End>) {
        for target in self {
            target.ends(ends);
        }
    }
}

/// The nodes that a join waits for.
pub trait Sources {
    /// Adds the ends of the edges.
    fn ends(&self, ends: &mut Vec<End>);
}

impl<In, Out> Sources for NodeRef<In, Out> {
    fn ends(&self, ends: &mut Vec<End>) {
        ends.push(End::Node { graph: self.graph, index: self.index });
    }
}

impl Sources for Start {
    fn ends(&self, ends: &mut Vec<End>) {
        ends.push(End::Start);
    }
}

impl<T: Sources, const N: usize> Sources for [T; N] {
    fn ends(&self, ends: &mut Vec<End>) {
        self.iter().for_each(|source| source.ends(ends));
    }
}

impl<T: Sources> Sources for Vec<T> {
    fn ends(&self, ends: &mut Vec<End>) {
        self.iter().for_each(|source| source.ends(ends));
    }
}

macro_rules! tuples {
    ($(($($name:ident $marker:ident),+))*) => {$(
        impl<Out, $($name: Targets<Out, $marker>, $marker),+> Targets<Out, ($($marker,)+)> for ($($name,)+) {
            #[allow(non_snake_case, reason = "the type parameters name the members")]
            fn ends(&self, ends: &mut Vec<End>) {
                let ($($name,)+) = self;
                $($name.ends(ends);)+
            }
        }

        impl<$($name: Sources),+> Sources for ($($name,)+) {
            #[allow(non_snake_case, reason = "the type parameters name the members")]
            fn ends(&self, ends: &mut Vec<End>) {
                let ($($name,)+) = self;
                $($name.ends(ends);)+
            }
        }
    )*};
}

tuples! {
    (A MA)
    (A MA, B MB)
    (A MA, B MB, C MC)
    (A MA, B MB, C MC, D MD)
    (A MA, B MB, C MC, D MD, E ME)
    (A MA, B MB, C MC, D MD, E ME, F MF)
    (A MA, B MB, C MC, D MD, E ME, F MF, G MG)
    (A MA, B MB, C MC, D MD, E ME, F MF, G MG, H MH)
}
