//! Handles that join edges: [`NodeRef`], [`START`] and what can stand at either end of an edge.

use std::fmt;
use std::marker::PhantomData;

use pleach_context::{Dynamic, Feeds};

/// A node of a workflow under construction, with the types that it takes and gives. Free to copy.
pub struct NodeRef<In, Out> {
    pub(crate) index: usize,
    pub(crate) graph: u64,
    types: PhantomData<fn(In) -> Out>,
}

impl<In, Out> NodeRef<In, Out> {
    pub(crate) fn new(graph: u64, index: usize) -> Self {
        Self { index, graph, types: PhantomData }
    }

    /// The same node without types: its edges are checked at run time only.
    #[must_use]
    pub fn dynamic(self) -> NodeRef<Dynamic, Dynamic> {
        NodeRef::new(self.graph, self.index)
    }

    /// The same node, said to give `T`; checked at run time.
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

/// Where a workflow begins. ADK: `START`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start;

/// Where a workflow begins: edges from it lead to the first nodes, which get the workflow's input.
pub const START: Start = Start;

/// An end of an edge, by handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// [`START`].
    Start,
    /// A node of the graph with this id.
    Node {
        /// The graph that made the handle.
        graph: u64,
        /// The place of the node in it.
        index: usize,
    },
}

/// What an edge can lead from: [`START`], which gives the workflow's own input `W`, or a node.
pub trait Source<W>: Copy {
    /// What it gives.
    type Out;
    /// The end of the edge.
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

/// What an edge can lead to: a node, several nodes, or [`START`] (which is refused when the graph is built).
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

/// Nodes that a join waits for.
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
